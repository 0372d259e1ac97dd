"""Measure what a core install weighs, a package a line: ``make install-size``.

A fresh environment gets tailguard without extras; files are counted by the lists that packages
keep of them. A second one is installed with ``pip install --no-compile``, and counted again after
``tailguard demo``, when Python has kept the bytecode of what the demo loads. Then each extra for
users is installed as well. MB are 2**20 bytes. What every environment has, pip and setuptools, is
left out.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import tomllib
import venv
from importlib.metadata import distributions
from pathlib import Path

ROOT = Path(__file__).parents[1]
MB = 2**20
OF_THE_ENVIRONMENT = {"pip", "setuptools", "wheel"}


def plain_environment(**settings):
    """The variables of this process, without those that change what Python or Numba keep where."""
    changing = {"PYTHONPATH", "PYTHONDONTWRITEBYTECODE", "NUMBA_CACHE_DIR", "SOURCE_DATE_EPOCH"}
    return {name: value for name, value in os.environ.items() if name not in changing} | settings


def sizes():
    """Name, version, MB, and MB of bytecode of each package of this environment, largest first."""
    rows = []
    for package in distributions():
        files = [Path(str(package.locate_file(file))) for file in package.files or ()]
        weights = {file: file.stat().st_size for file in files if file.is_file()}
        compiled = sum(size for file, size in weights.items() if file.suffix == ".pyc")
        row = {"name": package.metadata["Name"], "version": package.version}
        row |= {"mb": sum(weights.values()) / MB, "bytecode_mb": compiled / MB}
        rows.append(row)
    rows = [row for row in rows if row["name"] not in OF_THE_ENVIRONMENT]
    return sorted(rows, key=lambda row: -row["mb"])


def sum_of(rows, part):
    return sum(row[part] for row in rows)


def environment(folder):
    """The Python of a new environment in a folder, and its pip install."""
    venv.create(folder, with_pip=True)
    python = Path(folder, "bin", "python")
    return python, (python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check")


def installed(folder, *options, extra=""):
    """The Python of a new environment in a folder that has tailguard, with an extra or without."""
    python, install = environment(folder)
    what = f"{ROOT}[{extra}]" if extra else ROOT
    subprocess.run([*install, *options, what], check=True, env=plain_environment())
    return python


def rows_of(python):
    found = subprocess.run([python, __file__, "--here"], check=True, stdout=subprocess.PIPE)
    return json.loads(found.stdout)


def measured():
    """Figures of a core install, of one without bytecode before and after the demo, of extras."""
    with tempfile.TemporaryDirectory() as folder:
        rows = rows_of(installed(folder))
    with tempfile.TemporaryDirectory() as folder:
        python = installed(folder, "--no-compile")
        before, files = rows_of(python), weight(folder)
        demo = [python.with_name("tailguard"), "demo"]
        subprocess.run(demo, check=True, env=plain_environment(), stdout=subprocess.DEVNULL)
        grown = weight(folder) - files
    bare, extras = sum_of(before, "mb"), {}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    for extra in project["optional-dependencies"].keys() - {"dev"}:
        with tempfile.TemporaryDirectory() as folder:
            more = sum_of(rows_of(installed(folder, extra=extra)), "mb")
        extras[extra] = more - sum_of(rows, "mb")
    figures = {"packages": rows, "without_bytecode_mb": bare, "after_the_demo_mb": bare + grown}
    return figures | {"extras_mb": dict(sorted(extras.items()))}


def weight(folder):
    """MB of all files below a folder."""
    files = (file for file in Path(folder).rglob("*") if not file.is_symlink())
    return sum(file.stat().st_size for file in files if file.is_file()) / MB


def table(figures):
    """Rows of a Markdown table, with the sums in the last ones."""
    rows = figures["packages"]
    yield from (f"| {row['name']} {row['version']} | {row['mb']:.1f} |" for row in rows)
    yield f"| all {len(rows)} | {sum_of(rows, 'mb'):.0f} |"
    yield f"| all, installed with --no-compile | {figures['without_bytecode_mb']:.0f} |"
    yield f"| the same after the demo | {figures['after_the_demo_mb']:.0f} |"
    yield from (f"| extra {name} | {mb:.0f} more |" for name, mb in figures["extras_mb"].items())


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--here", action="store_true", help="print this environment as JSON")
    parser.add_argument("--out", type=Path, help="keep the figures in this file")
    options = parser.parse_args()
    if options.here:
        json.dump(sizes(), sys.stdout)
        return
    figures = measured()
    print(*table(figures), sep="\n")
    if options.out:
        options.out.write_text(json.dumps(figures, indent=1) + "\n")


if __name__ == "__main__":
    main()
