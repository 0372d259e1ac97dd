"""Check that these sources can be released: ``make release-check``.

An sdist and a wheel are built twice, in two places, and must agree in every byte. They hold what
they should, and the README that a package index shows has no link that leads nowhere there. The
wheel is installed into an empty environment with core dependencies alone, where every module loads
and the demo runs; the commands of the page on uninstalling leave nothing behind. ``--tag`` and
``--address`` ask also what is said of the release itself. Needs Python 3.11 or newer, pip's package
index, and nothing else.
"""

import argparse
import email
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import tomllib
import zipfile
from pathlib import Path

from install_size import MB, environment, plain_environment, rows_of, sum_of

ROOT = Path(__file__).parents[1]
TWINE = "twine==7.0.0"  # checks what is built, and has no part in it
MOST_MB = 450  # of a core install without bytecode: 404 where this was written
LOAD_ALL = """
import importlib, pkgutil, tailguard
for module in pkgutil.walk_packages(tailguard.__path__, "tailguard."):
    if not module.name.endswith("__main__"):
        importlib.import_module(module.name)
"""
# What theorems say is read from a file of the package.
EXPLAIN = """
import tailguard as tg
facts = {"moment": tg.Moment(2.0, 1.0), "diameter": 2.0}
print(tg.papers.kamath2022.convex(100_000, 3, tg.ZCDP(0.5), **facts).explain())
"""


class RefusedError(Exception):
    """A reason why these sources cannot be released."""


def require(breaches, what):
    """Refuse a list of breaches that is not empty."""
    breaches = list(breaches)
    if breaches:
        raise RefusedError(f"{what}: {', '.join(map(str, breaches[:5]))} ({len(breaches)} in all).")


def run(*command, **options):
    """Run a command, and return what it prints; refuse where it fails."""
    options = {"env": plain_environment(), "stdout": subprocess.PIPE, "text": True} | options
    done = subprocess.run(command, check=False, stderr=subprocess.STDOUT, **options)
    if done.returncode:
        raise RefusedError(f"{' '.join(map(str, command))} failed:\n{done.stdout}")
    return done.stdout


# What is built


def build(python, source, out, umask=-1):
    """Build an sdist, and from it a wheel; return both files."""
    run(python, "-m", "build", "--no-isolation", "--outdir", out, source, umask=umask)
    return sorted(out.iterdir())


def moved(sdist, folder):
    """Unpack an sdist elsewhere, as if it had been written at another time."""
    with tarfile.open(sdist) as archive:
        archive.extractall(folder, filter="data")
    for number, file in enumerate(sorted(folder.rglob("*"))):
        os.utime(file, (1_500_000_000 + number,) * 2)
    return next(folder.iterdir())


def differing(first, second):
    """Names of files of which two builds do not hold the same bytes."""
    one, other = ({file.name: file.read_bytes() for file in files} for files in (first, second))
    return [name for name in one | other if one.get(name) != other.get(name)]


def sdist_breaches(names, tracked):
    """Files of an sdist that nobody keeps, and kept files that it lacks."""
    found = {name.partition("/")[2] for name in names} - {"PKG-INFO"}
    yield from (f"{name} is in the sdist, but not in the repository" for name in found - tracked)
    yield from (f"{name} is not in the sdist" for name in tracked - found)


def wheel_breaches(names):
    """What a wheel should not hold, and what it lacks."""
    known = re.compile(
        r"tailguard/.*\.(py|pyi|typed)|tailguard/report/[\w.]+\.(css|js|json)"
        r"|tailguard/papers/statements\.toml|tailguard-[^/]*\.dist-info/.*"
    )
    yield from (f"{name} is in the wheel" for name in names if not known.fullmatch(name))
    parts = ("verifier.js", "planner.js", "report.css", "registry.schema.json", "nist.schema.json")
    needed = ("/py.typed", "/__init__.pyi", "/papers/statements.toml")
    needed += tuple(f"/report/{part}" for part in parts)
    for ending in (*needed, "/licenses/LICENSE"):
        if not any(name.endswith(ending) for name in names):
            yield f"{ending} is not in the wheel"


def relative_links(readme):
    """Targets of links and pictures that lead nowhere on the page of a package index."""
    targets = re.findall(r"\]\(([^)\s]+)\)", readme)
    return [target for target in targets if not re.match(r"https?:|mailto:|#", target)]


def tracked_files():
    """What the repository keeps; None outside of one."""
    if not (ROOT / ".git").exists():
        return None
    return set(run("git", "ls-files", cwd=ROOT).splitlines())


def check_files(wheel, sdist):
    with tarfile.open(sdist) as archive:
        names = [member.name for member in archive if member.isfile()]
    tracked = tracked_files()
    if tracked is not None:
        require(sdist_breaches(names, tracked), "The sdist is not what the repository keeps")
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        [metadata] = [name for name in names if name.endswith(".dist-info/METADATA")]
        metadata = email.message_from_bytes(archive.read(metadata))
    require(wheel_breaches(names), "The wheel is not what is imported")
    require(
        relative_links(metadata.get_payload()), "The README has links that an index cannot follow"
    )
    return metadata


# What is installed


def optional(metadata):
    """Names of packages that extras for users bring, and a core install must not need."""
    requirements = [text.partition(";") for text in metadata.get_all("Requires-Dist")]
    extras = [name for name, _, when in requirements if "extra" in when and "'dev'" not in when]
    names = {re.match(r"[\w.-]+", name)[0].lower() for name in extras}
    return {name for name in names if name != "tailguard"} | {"pandas", "polars"}


def left_behind(folder):
    """What still names tailguard below a folder."""
    found = folder.rglob("*")
    return [path for path in found if "tailguard" in str(path.relative_to(folder)).lower()]


def uninstall_commands(page):
    """The two commands of the page on uninstalling, for pip and for compiled loops."""
    block = re.search(r"^## Uninstall$.*?^```console\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)
    return block[1].splitlines()


def check_installed(wheel, metadata, folder):
    """Install the wheel without extras, use it, and uninstall it as the page says."""
    python, install = environment(folder / "core")
    home, work = (folder / name for name in ("home", "work"))
    cache = home / ".cache" / "tailguard"  # of compiled loops
    for place in (home, work):
        place.mkdir()
    run(*install, "--no-compile", wheel)
    run(python, "-m", "pip", "check")
    rows = rows_of(python)
    names = {row["name"].lower() for row in rows}
    require(names & optional(metadata), "A core install brings packages of an extra")
    weight = sum_of(rows, "mb")
    require([f"{weight:.0f}"] if weight > MOST_MB else [], f"A core install is above {MOST_MB} MB")
    path = f"{python.parent}{os.pathsep}{os.environ['PATH']}"
    user = {"cwd": work, "env": plain_environment(HOME=str(home), PATH=path)}
    user["env"].pop("XDG_CACHE_HOME", None)
    run(python, "-c", LOAD_ALL, **user)
    said = run(python, "-c", EXPLAIN, **user)
    require([] if "needed for accuracy" in said else ["too little"], "A theorem explains")
    shown = run("tailguard", "demo", **user)
    require([] if "released: epsilon" in shown else ["no certificate"], "The demo shows")
    page = work / "demo-report.html"
    checked = run("tailguard", "verify", page, **user)
    require([] if "word by word" in checked else ["something else"], "The report of the demo says")
    written = [path for path in (*home.rglob("*"), *work.rglob("*")) if path.is_file()]
    left = (path for path in written if cache not in path.parents and path != page)
    require(left, "The demo leaves behind")
    by_pip, by_hand = uninstall_commands((ROOT / "docs" / "install.md").read_text())
    run("bash", "-ec", by_pip, **user)
    require(left_behind(folder / "core"), "pip uninstall leaves")
    run("bash", "-ec", by_hand, **user)
    require(left_behind(home), "The commands of docs/install.md leave")
    return f"{len(rows)} packages of {weight:.0f} MB without bytecode"


# What is said of it


def version():
    text = (ROOT / "src" / "tailguard" / "version.py").read_text()
    return re.search(r'^__version__ = "(.*)"$', text, re.MULTILINE)[1]


def release_breaches(tag, address):
    """What the repository does not say of a release, or says otherwise."""
    number = version()
    if tag is not None:
        citation = (ROOT / "CITATION.cff").read_text()
        dated = re.search(r"^date-released: [\"']?(\d{4}-\d\d-\d\d)", citation, re.MULTILINE)
        heading = f"## [{number}] - {dated[1] if dated else 'DATE'}"
        if tag != f"v{number}":
            yield f"the tag is {tag}, and the version {number}"
        if dated is None:
            yield "CITATION.cff has no date-released"
        if heading not in (ROOT / "CHANGELOG.md").read_text().splitlines():
            yield f"CHANGELOG.md has no line '{heading}'"
    stated = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["urls"]["Repository"]
    if address is not None and address != stated:
        yield f"pyproject.toml gives the address {stated}, and this is {address}"


def check(folder, out):
    """Run every check in a folder, and put what was built into another."""
    python, install = environment(folder / "tools")
    run(
        *install, "--require-hashes", "--only-binary", ":all:", "-r", ROOT / "release" / "tools.txt"
    )
    first = build(python, ROOT, folder / "first")
    wheel, sdist = first
    second = build(python, moved(sdist, folder / "moved"), folder / "second", umask=0o077)
    require(differing(first, second), "Two builds differ")
    tell(f"built twice, same bytes: {wheel.name}, {sdist.name}, {sdist.stat().st_size / MB:.1f} MB")
    run(*install, TWINE)
    run(python, "-m", "twine", "check", "--strict", *first)
    metadata = check_files(wheel, sdist)
    tell("twine and the lists of files agree")
    tell(f"installed, shown and uninstalled: {check_installed(wheel, metadata, folder)}")
    shutil.rmtree(out, ignore_errors=True)
    shutil.copytree(folder / "first", out)
    for file in first:
        print(hashlib.sha256(file.read_bytes()).hexdigest(), file.name)


STARTED = time.monotonic()


def tell(what):
    print(f"{time.monotonic() - STARTED:5.0f} s  {what}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=ROOT / "dist", help="where the files go")
    parser.add_argument("--tag", help="the tag of a release, such as v0.1.0")
    parser.add_argument("--address", help="the web address of the repository that is released")
    options = parser.parse_args()
    try:
        require(release_breaches(options.tag, options.address), "This is not said alike everywhere")
        with tempfile.TemporaryDirectory() as folder:
            check(Path(folder), options.out)
    except RefusedError as reason:
        sys.exit(f"release-check: {reason}")


if __name__ == "__main__":
    main()
