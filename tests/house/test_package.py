"""What stands beside the code agrees with it: version, addresses, figures, workflows."""

import re
import tomllib
from pathlib import Path

import pytest
import yaml

import tailguard
from release_check import (
    differing,
    left_behind,
    relative_links,
    release_breaches,
    require,
    sdist_breaches,
    uninstall_commands,
    wheel_breaches,
)

ROOT = Path(__file__).parents[2]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
PROJECT = PYPROJECT["project"]
REPOSITORY = PROJECT["urls"]["Repository"]


def text(name):
    return (ROOT / name).read_text()


def parsed(name):
    return yaml.safe_load(text(name))


def newest_release(changelog):
    """The version of the first section that has one; None where there was no release."""
    found = re.search(r"^## \[(\d[^\]]*)\]", changelog, re.MULTILINE)
    return found and found[1]


def test_the_version_stands_in_one_place_and_is_repeated_right():
    assert PROJECT["dynamic"][0] == "version"
    assert PYPROJECT["tool"]["hatch"]["version"]["path"] == "src/tailguard/version.py"
    said = {
        "CITATION.cff": parsed("CITATION.cff")["version"],
        "release/conda/recipe.yaml": parsed("release/conda/recipe.yaml")["context"]["version"],
        "paper/paper.md": re.search(r"describes version\s(\S+)\.\s", text("paper/paper.md"))[1],
        "CHANGELOG.md": newest_release(text("CHANGELOG.md")) or tailguard.__version__,
    }
    assert said == dict.fromkeys(said, tailguard.__version__)


def test_the_newest_release_of_a_changelog_is_found():
    assert newest_release("# Changes\n\n## [Unreleased]\n") is None
    assert newest_release("## [Unreleased]\n\n## [0.2.0] - 2027-01-31\n\n## [0.1.0]") == "0.2.0"


def test_the_citation_is_complete_and_is_that_of_the_project():
    citation = parsed("CITATION.cff")
    assert citation["cff-version"] == "1.2.0"
    assert citation["message"]
    assert citation["title"].startswith("tailguard: ")
    assert citation["title"].lower().endswith(PROJECT["description"].lower())
    assert [author["name"] for author in citation["authors"]] == [
        author["name"] for author in PROJECT["authors"]
    ]
    assert citation["license"] == PROJECT["license"]
    assert citation["keywords"] == PROJECT["keywords"]
    assert ("date-released" in citation) == (newest_release(text("CHANGELOG.md")) is not None)


def conda(requirement):
    """A requirement of Python's as conda writes it."""
    return re.sub(r"(?<=\w)(?=[<>=])", " ", requirement, count=1)


def test_the_conda_recipe_asks_for_what_the_package_asks_for():
    recipe = parsed("release/conda/recipe.yaml")
    [oldest] = parsed("release/conda/variants.yaml")["python_min"]
    needs = recipe["requirements"]
    assert PROJECT["requires-python"] == f">={oldest}"
    assert needs["run"] == ["python >=${{ python_min }}", *map(conda, PROJECT["dependencies"])]
    built = map(conda, PYPROJECT["build-system"]["requires"])
    assert needs["host"] == ["python ${{ python_min }}.*", "pip", *built]
    [[command, function]] = PROJECT["scripts"].items()
    assert recipe["build"]["python"]["entry_points"] == [f"{command} = {function}"]
    assert recipe["about"]["license"] == PROJECT["license"]
    assert recipe["about"]["summary"] == PROJECT["description"]


def addresses(page):
    """The homes on the web that a page gives to this project, of commands too."""
    short = re.findall(r"--repo ([\w-]+/tailguard)\b", page)
    found = re.findall(r"https://github\.com/[\w-]+/tailguard\b", page)
    return {*found, *(f"https://github.com/{name}" for name in short)}


def test_everything_gives_the_address_of_pyproject():
    places = [path for ending in ("md", "toml", "cff") for path in ROOT.glob(f"*.{ending}")]
    for pattern in (".github/**/*.yml", "docs/**/*.md", "paper/*.md", "release/**/*.yaml"):
        places += ROOT.glob(pattern)
    given = {path.name: addresses(path.read_text()) for path in places}
    assert given["pyproject.toml"] == {REPOSITORY}
    assert {name: found for name, found in given.items() if found - {REPOSITORY}} == {}
    assert all(url.startswith(REPOSITORY) for url in PROJECT["urls"].values())


def test_another_address_is_seen():
    page = "see https://github.com/someone/tailguard/issues, or run gh --repo another/tailguard"
    assert len(addresses(page)) == 2


def classified(kind):
    """The last words of the classifiers of a kind."""
    return [name.split(" :: ")[-1] for name in PROJECT["classifiers"] if name.startswith(kind)]


def pythons():
    return classified("Programming Language :: Python :: 3.")


def test_the_first_page_says_the_pythons_the_state_and_the_licence():
    readme, numbers = text("README.md"), pythons()
    assert f"[![Python {numbers[0]} to {numbers[-1]}](" in readme
    assert f"Python-{numbers[0]}%20to%20{numbers[-1]}-blue" in readme
    state = classified("Development Status")[0].split(" - ")[1]
    assert f"[![Status {state.lower()}](" in readme
    assert f"\n## Status\n\n{state}: " in readme
    assert f"[![Licence {PROJECT['license']}](" in readme


def workflow(name):
    """A workflow and its jobs; YAML takes the key ``on`` for a truth value."""
    read = parsed(f".github/workflows/{name}.yml")
    return read, read["jobs"]


def test_continuous_integration_runs_the_whole_check_on_every_python():
    read, jobs = workflow("ci")
    matrix = jobs["check"]["strategy"]["matrix"]["python"]
    assert {*pythons()} <= {*matrix}
    assert PROJECT["requires-python"] == f">={matrix[0]}"
    assert "workflow_call" in read[True]
    assert [step["run"] for step in jobs["check"]["steps"] if "run" in step] == ["bash .ci/run"]


def test_a_release_is_checked_then_built_then_signed_then_published():
    read, jobs = workflow("release")
    assert read[True] == {"push": {"tags": ["v*"]}}
    assert [job.get("needs") for job in jobs.values()] == [
        *(None, "check", "build", "sign", "publish"),
    ]
    assert jobs["check"]["uses"] == "./.github/workflows/ci.yml"
    [command] = [step["run"] for step in jobs["build"]["steps"] if "run" in step]
    assert command.startswith("make release-check ")
    assert {"TAG=", "ADDRESS="} <= {word[: word.find("=") + 1] for word in command.split()}


@pytest.mark.parametrize("name", ["ci", "release"])
def test_workflows_may_little_keep_no_secret_and_run_known_code(name):
    read, jobs = workflow(name)
    assert read["permissions"] == {}
    assert "secrets." not in text(f".github/workflows/{name}.yml")
    for job in jobs.values():
        for step in job.get("steps", []):
            assert re.fullmatch(r"[\w./-]+@[0-9a-f]{40}", step.get("uses", f"a@{'0' * 40}"))
    writing = {key for key, job in jobs.items() if "write" in job["permissions"].values()}
    assert writing <= {"sign", "publish", "announce"}


def test_every_page_is_reached_from_the_index():
    sections = ["index", "learn", "explain", "science", "api"]
    listed = "".join(text(f"docs/{name}.md") for name in sections)
    pages = [page.name for page in (ROOT / "docs").glob("*.md")]
    assert [name for name in pages if f"]({name})" not in listed] == ["index.md"]
    for name in ("docs/install.md", "docs/statement-of-need.md", "CITATION.cff", "paper/paper.md"):
        assert f"]({name})" in text("README.md")


# Figures on the pages are held to stored results in tests/docs/test_numbers.py


def test_the_page_on_installing_names_each_dependency():
    table = text("docs/install.md").partition("## What is installed")[2]
    for requirement in PROJECT["dependencies"]:
        name = re.match(r"[\w-]+", requirement)[0]
        assert re.search(rf"^\| .*\b{name}\b", table, re.MULTILINE)


# The paper


def test_the_paper_has_the_sections_and_the_length_that_its_journal_asks_for():
    _, front, body = text("paper/paper.md").split("---\n", maxsplit=2)
    assert 750 <= len(body.split()) <= 1750
    assert re.findall(r"^# (.+)$", body, re.MULTILINE) == [
        *("Summary", "Statement of need", "State of the field", "Software design"),
        *("Research impact statement", "AI usage disclosure", "Acknowledgements", "References"),
    ]
    front = yaml.safe_load(front)
    assert front.keys() >= {"title", "tags", "authors", "affiliations", "date", "bibliography"}
    assert (ROOT / "paper" / front["bibliography"]).exists()
    indices = {place["index"] for place in front["affiliations"]}
    assert {author["affiliation"] for author in front["authors"]} <= indices


def test_the_paper_cites_what_is_listed_and_lists_what_is_cited():
    cited = re.findall(r"@([a-z]+\d*)\b", text("paper/paper.md"))
    listed = re.findall(r"^@\w+\{(\w+),$", text("paper/paper.bib"), re.MULTILINE)
    assert sorted({*cited}) == sorted(listed)


# What `make release-check` refuses


def test_an_index_can_follow_every_link_of_the_readme():
    shown = text("README.md")
    for change in PYPROJECT["tool"]["hatch"]["metadata"]["hooks"]["fancy-pypi-readme"][
        "substitutions"
    ]:
        shown = re.sub(change["pattern"], change["replacement"], shown)
    assert relative_links(text("README.md"))
    assert relative_links(shown) == []
    assert shown.count(f"]({REPOSITORY}/raw/v$HFPR_VERSION/") == 1  # the picture
    assert addresses(shown) == {REPOSITORY}


def test_a_relative_link_is_seen():
    page = "[a](docs/a.md) ![b](b.png) [c](https://c.org) [d](#d) [e](mailto:e@e.org)"
    assert relative_links(page) == ["docs/a.md", "b.png"]


def test_a_build_that_differs_is_seen(tmp_path):
    for folder, content in (("first", b"1"), ("second", b"2")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "same").write_bytes(b"0")
        (tmp_path / folder / "wheel").write_bytes(content)
    first, second = ([*(tmp_path / folder).iterdir()] for folder in ("first", "second"))
    assert differing(first, second) == ["wheel"]
    assert differing(first, first) == []
    assert differing(first[:1], first) == [file.name for file in first[1:]]


REPORT_FILES = (
    *("verifier.js", "planner.js", "report.css"),
    *("registry.schema.json", "nist.schema.json"),
)


def test_a_file_too_many_or_too_few_is_seen():
    names = ["tailguard-1/PKG-INFO", "tailguard-1/a.py", "tailguard-1/secret.txt"]
    assert len(list(sdist_breaches(names, {"a.py", "b.py"}))) == 2
    assert list(sdist_breaches(names[:2], {"a.py"})) == []
    needed = ("/py.typed", "/__init__.pyi", "/papers/statements.toml")
    needed += ("-1.dist-info/licenses/LICENSE",)
    page = [f"/report/{name}" for name in REPORT_FILES]
    whole = [f"tailguard{ending}" for ending in (*needed, *page)]
    assert list(wheel_breaches(whole)) == []
    for left in range(len(whole)):
        assert len(list(wheel_breaches(whole[:left] + whole[left + 1 :]))) == 1
    assert len(list(wheel_breaches([*whole, "tests/a.py", "tailguard/__pycache__/a.nbc"]))) == 2


def test_every_file_of_the_package_may_be_in_the_wheel():
    files = [path.relative_to(ROOT / "src") for path in (ROOT / "src/tailguard").rglob("*.*")]
    names = [path.as_posix() for path in files if "__pycache__" not in path.parts]
    if not (ROOT / "src/tailguard/papers").exists():  # the core stands without the wing
        names.append("tailguard/papers/statements.toml")
    assert list(wheel_breaches([*names, "tailguard-1.dist-info/licenses/LICENSE"])) == [
        "/py.typed is not in the wheel"
    ] * ("tailguard/py.typed" not in names)


def test_what_is_left_behind_is_seen(tmp_path):
    environment = tmp_path / "tailguard"  # a folder of this name above it does not count
    (environment / "lib" / "Tailguard-1.dist-info").mkdir(parents=True)
    (environment / "lib" / "numpy").mkdir()
    assert [path.name for path in left_behind(environment)] == ["Tailguard-1.dist-info"]


def test_the_page_on_uninstalling_has_a_line_for_pip_and_one_for_loops():
    by_pip, by_hand = uninstall_commands(text("docs/install.md"))
    assert by_pip == "pip uninstall --yes tailguard"
    assert by_hand == "rm -rf ~/.cache/tailguard"


def test_a_release_that_is_said_otherwise_is_seen():
    assert list(release_breaches(None, None)) == []
    assert list(release_breaches(None, REPOSITORY)) == []
    assert len(list(release_breaches(None, "https://github.com/someone/else"))) == 1
    assert any("the tag is v9" in breach for breach in release_breaches("v9", REPOSITORY))


def test_breaches_refuse_a_release():
    require([], "Nothing")
    with pytest.raises(Exception, match=r"^The wheel lacks: a, b \(2 in all\)\.$"):
        require(["a", "b"], "The wheel lacks")
