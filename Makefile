# Needs CPython 3.11 or newer and make; everything else goes into $(VENV).
#   make demo
#   make test PYTHON=python3.12 VENV=.venv-312

PYTHON ?= python3
VENV ?= .venv
QUICK ?=

BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip -qq --disable-pip-version-check
# One environment, two stamps: the package alone, and the package with the tools of its makers.
INSTALLED := $(VENV)/.installed
INSTALLED_DEV := $(VENV)/.installed-dev

.DEFAULT_GOAL := help
.PHONY: help demo test lint docs bench audit clean

help:  ## Show this list
	@sed -n 's/^\([a-z]*\):.*##  *\(.*\)/  make \1\t\2/p' Makefile

demo: $(INSTALLED)  ## Fit a private regression on simulated claims and print its certificate
	@$(BIN)/tailguard demo

test: $(INSTALLED_DEV)  ## Run the tests, the examples and the documentation
	@$(BIN)/python -m pytest -n 2 --dist worksteal

lint: $(INSTALLED_DEV)  ## Check style, formatting and types
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy

docs: $(INSTALLED_DEV)  ## Run every Python block of the pages and follow their links
	@$(BIN)/python -m pytest tests/docs

bench: $(INSTALLED_DEV)  ## Run the benchmarks one after another; QUICK=1 for a glance
	@set -e; for script in $(wildcard benchmarks/bench_*.py); do \
		echo "== $$script"; $(BIN)/python $$script $(if $(QUICK),--quick); done

audit: $(INSTALLED_DEV)  ## Run the long statistical audits
	@$(BIN)/python -m pytest -m audit -n 2 --dist worksteal

clean:  ## Remove the environment and everything that was built
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find src tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +

$(INSTALLED): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and \
		"tailguard needs Python 3.11 or newer; name one with: make PYTHON=python3.11")'
	@echo "Setting up $(VENV); only the first time takes long."
	@$(PYTHON) -m venv $(VENV)
	@$(PIP) install --editable .
	@touch $@

$(INSTALLED_DEV): $(INSTALLED)
	@echo "Adding the tools for tests, checks and benchmarks to $(VENV)."
	@$(PIP) install --editable '.[dev]'
	@touch $@
