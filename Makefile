# Needs CPython 3.11 or newer and make; everything else goes into $(VENV).
#   make demo
#   make test PYTHON=python3.12 VENV=.venv-312

PYTHON ?= python3
VENV ?= .venv
QUICK ?=
# Of bench-accuracy: a folder of Parquet files, processes, and whatever else python -m accuracy takes.
DATA ?=
JOBS ?= 1
COUNT ?= 300
ARGS ?=
PEERS_VENV ?= .venv-peers
TUMULT_VENV ?= .venv-tumult
SPARK_VENV ?= .venv-spark
SITE_VENV ?= .venv-site

BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip -qq --disable-pip-version-check
# One environment, two stamps: the package alone, and the package with the tools of its makers.
INSTALLED := $(VENV)/.installed
INSTALLED_DEV := $(VENV)/.installed-dev

DRAWS ?= 10
PIECES ?= benchmarks/results/lines/describe
DESCRIBE = benchmarks/bench_describe.py $(TABLES) --draws $(DRAWS) --pieces $(PIECES)

.DEFAULT_GOAL := help
.PHONY: help demo test test-long test-spark lint docs site bench bench-means bench-describe bench-accuracy bench-accuracy-peers reproduce \
	audit coverage fuzz mutants numbers install-size peers peer-facts release-check clean

help:  ## Show this list
	@sed -n 's/^\([a-z-]*\):.*##  *\(.*\)/  make \1\t\2/p' Makefile | expand -t 28

demo: $(INSTALLED)  ## Fit a private regression on simulated claims and write its report
	@$(BIN)/tailguard demo

# One thread a process: its two processes would otherwise fight for the cores. Those that tests start
# read the byte code that was written before, also where the shell says that none is written.
test: export OPENBLAS_NUM_THREADS = 1
test: export PYTHONDONTWRITEBYTECODE =
test: $(INSTALLED_DEV)  ## Run the tests, the examples and the documentation
	@$(BIN)/python -m pytest -n 2 --dist worksteal -m "not long and not audit and not spark"

test-long: export OPENBLAS_NUM_THREADS = 1
test-long: $(INSTALLED_DEV)  ## Run the tests of a second or more, which make test leaves out
	@$(BIN)/python -m pytest -n 2 --dist worksteal -m "long and not audit and not spark"

# pyspark brings a Spark of its own, hundreds of megabytes, and wants a Java: an environment apart.
test-spark: export PYSPARK_PYTHON = $(abspath $(SPARK_VENV)/bin/python)
test-spark: $(SPARK_VENV)/.installed  ## Run the tests on Spark, which needs Java 17 or newer
	@$(SPARK_VENV)/bin/python -m pytest -m spark tests/data/readers/test_spark.py

lint: $(INSTALLED_DEV)  ## Check style, formatting and types
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy

docs: $(INSTALLED_DEV)  ## Run every Python block of the pages and follow their links
	@$(BIN)/python -m pytest tests/docs

numbers: $(INSTALLED_DEV)  ## See that published numbers are those of the stored results
	@$(BIN)/python -m pytest -q tests/docs/test_commands.py tests/docs/test_numbers.py \
		tests/docs/test_measured.py tests/docs/test_computed.py tests/docs/test_figures.py \
		tests/docs/test_install_sizes.py tests/papers/docs/test_errata_numbers.py

# Sphinx and its theme in an environment apart. Warnings are errors.
site: export OPENBLAS_NUM_THREADS = 1
site: $(SITE_VENV)/.installed  ## Build the site, with the gallery's examples, into docs/_build/html
	@$(SITE_VENV)/bin/python -m sphinx -W --keep-going -q -b html docs docs/_build/html
	@echo "Built docs/_build/html/index.html."

bench: $(INSTALLED_DEV)  ## Run the benchmarks one after another; QUICK=1 for a glance
	@set -e; for script in $(filter-out %/bench_means.py %/bench_intervals.py %/bench_bounded_slopes.py %/bench_without.py %/bench_rivals.py,$(wildcard benchmarks/bench_*.py)); do \
		echo "== $$script"; $(BIN)/python $$script $(if $(QUICK),--quick); done

# One thread a process: its two processes would otherwise fight for the cores.
bench-means: export OPENBLAS_NUM_THREADS = 1
bench-means: export OMP_NUM_THREADS = 1
bench-means: export NUMBA_NUM_THREADS = 1
bench-means: $(INSTALLED_DEV)  ## Compare the private means in all cells; QUICK=1 for a glance
	@$(BIN)/python benchmarks/bench_means.py $(if $(QUICK),--quick)

# One thread a process: the fits of JOBS processes would otherwise fight for the cores.
bench-accuracy: export OPENBLAS_NUM_THREADS = 1
bench-accuracy: export OMP_NUM_THREADS = 1
bench-accuracy: export PYTHONPATH = benchmarks
bench-accuracy: $(INSTALLED_DEV)  ## Compare default fits with peers; QUICK=1, DATA=folder, JOBS=2
	@$(BIN)/python -m accuracy --jobs $(JOBS) $(if $(QUICK),--quick) \
		$(if $(DATA),--data $(DATA)) $(ARGS)

# One thread a process, as for bench-accuracy. What has a line is not run again.
reproduce: export OPENBLAS_NUM_THREADS = 1
reproduce: export OMP_NUM_THREADS = 1
reproduce: export NUMBA_NUM_THREADS = 1
reproduce: $(INSTALLED_DEV)  ## Run the papers' experiments and judge their claims; QUICK=1, DATA=folder, JOBS=2
	@$(BIN)/tailguard reproduce all --jobs $(JOBS) $(if $(DATA),--data $(DATA)) $(ARGS) \
		$(if $(QUICK),--quick --out reproduced,--out benchmarks/results/reproduce --table docs/claims.md)

# diffprivlib needs an older scikit-learn than tailguard's own tools: an environment of their own.
peers:
	@$(PYTHON) -m venv $(PEERS_VENV)
	@$(PEERS_VENV)/bin/python -m pip -q install 'scikit-learn<=1.7.2' scipy pandas pyarrow
	@$(PEERS_VENV)/bin/python -m pip -q install diffprivlib==0.6.6 'scikit-learn<=1.7.2' \
		|| echo "diffprivlib could not be installed."
	@$(PEERS_VENV)/bin/python -m pip -q install opacus==1.6.0 torch==2.13.0+cpu \
		--extra-index-url https://download.pytorch.org/whl/cpu \
		|| echo "Opacus could not be installed."

bench-accuracy-peers: export PYTHONPATH = benchmarks
bench-accuracy-peers: peers  ## Add diffprivlib and Opacus to the lines of bench-accuracy
	@$(PEERS_VENV)/bin/python -m accuracy.external $(if $(DATA),--data $(DATA)) $(ARGS)

# Tumult needs an older NumPy than the others, and 80 microseconds a record and quantile. All methods add their pieces to one
# folder, which the last line reads.
bench-describe: export PYTHONPATH = src
bench-describe: export OPENBLAS_NUM_THREADS = 1
bench-describe: $(INSTALLED_DEV) peers  ## Describe TABLES="a.parquet ..." beside peers; DRAWS=10, PIECES=folder
	@$(PEERS_VENV)/bin/python -m pip -q install opendp==0.16.0 python-dp==1.1.5
	@$(PYTHON) -m venv $(TUMULT_VENV) && $(TUMULT_VENV)/bin/python -m pip -q install tmlt-analytics==0.21.0
	@$(PEERS_VENV)/bin/python $(DESCRIBE) --methods opendp google diffprivlib
	@$(TUMULT_VENV)/bin/python $(DESCRIBE) --methods tumult --most 2000
	@$(BIN)/python $(DESCRIBE) --out benchmarks/results

# In the same environment; of two tools files are read alone, so what they need is not installed.
peer-facts: peers  ## Ask other tools what the statement of need says of them
	@$(PEERS_VENV)/bin/python -m pip -q install opendp==0.16.0
	@$(PEERS_VENV)/bin/python -m pip -q install --no-deps tmlt-analytics==0.21.0 smartnoise-synth==1.0.8
	@$(PEERS_VENV)/bin/python benchmarks/peer_facts.py --out benchmarks/results/peer_facts.json

audit: export OPENBLAS_NUM_THREADS = 1
audit: $(INSTALLED_DEV)  ## Run the long statistical audits
	@$(BIN)/python -m pytest -m audit -n 2 --dist worksteal

# Compiled loops are reached through the functions that they are compiled from.
coverage: export OPENBLAS_NUM_THREADS = 1
coverage: export NUMBA_NUM_THREADS = 1
coverage: export PYTHONPATH = benchmarks
coverage: $(INSTALLED_DEV)  ## See that tests reach every line and branch of the trusted rooms
	@$(BIN)/python -m coverage run -m pytest \
		$$($(BIN)/python -c 'from mutation.reach import TESTS; print(*TESTS)')
	@$(BIN)/python -m coverage report

fuzz: export OPENBLAS_NUM_THREADS = 1
fuzz: $(INSTALLED_DEV)  ## Try 20 000 malformed inputs of every kind
	@$(BIN)/python -m pytest -m audit tests/fuzz

# One thread a process: it is forked. What has a line is not tried again while its source stays.
mutants: export OPENBLAS_NUM_THREADS = 1
mutants: export OMP_NUM_THREADS = 1
mutants: export NUMBA_NUM_THREADS = 1
mutants: export PYTHONPATH = benchmarks
mutants: $(INSTALLED_DEV)  ## Seed faults in the trusted rooms and see whether tests fail; COUNT=300
	@$(BIN)/python -m mutation --reach
	@$(BIN)/python -m mutation --count $(COUNT) $(ARGS)
	@$(BIN)/python -m mutation --table

install-size:  ## Measure what an install without extras weighs, a package a line
	@$(PYTHON) release/install_size.py --out benchmarks/results/install_size.json

# TAG=v0.1.0 and ADDRESS=https://... ask also what a release must say of itself.
release-check:  ## Build twice and compare, install the core alone, run the demo, uninstall; files go to dist
	@$(PYTHON) release/release_check.py $(if $(TAG),--tag $(TAG)) $(if $(ADDRESS),--address $(ADDRESS))

clean:  ## Remove the environment and everything that was built
	rm -rf $(VENV) $(SPARK_VENV) $(SITE_VENV) docs/_build docs/gallery docs/reference build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find src tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +

$(SPARK_VENV)/.installed: pyproject.toml
	@command -v java >/dev/null || { \
		echo "make test-spark needs Java 17 or newer on the path; there is none."; exit 1; }
	@echo "Setting up $(SPARK_VENV); only the first time takes long."
	@$(PYTHON) -m venv $(SPARK_VENV)
	@$(SPARK_VENV)/bin/python -m pip -qq --disable-pip-version-check install --editable \
		'.[spark]' 'hypothesis>=6.100' 'pandas>=2.2' 'pytest>=8.2'
	@touch $@

$(SITE_VENV)/.installed: pyproject.toml
	@echo "Setting up $(SITE_VENV); only the first time takes long."
	@$(PYTHON) -m venv $(SITE_VENV)
	@$(SITE_VENV)/bin/python -m pip -qq --disable-pip-version-check install --editable '.[site]'
	@touch $@

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
