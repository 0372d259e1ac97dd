"""The site: pages of this folder, a reference page for every public name, and the gallery."""

import inspect
import re
import textwrap
from pathlib import Path

import typer

import tailguard as tg
from tailguard.cli.app import app as commands

FOLDER = Path(__file__).parent
REPOSITORY = "https://github.com/tailguard/tailguard/blob/main/"

project = "tailguard"
author = "The tailguard maintainers"
project_copyright = author
release = version = tg.__version__
extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "gallery/*.ipynb"]
suppress_warnings = ["ref.python"]  # several results have attributes of one name
html_theme = "pydata_sphinx_theme"
html_title = "tailguard"
html_show_sourcelink = False
html_extra_path = ["reference/llms.txt"]
html_static_path = ["site"]
html_css_files = ["site.css"]
html_theme_options = {
    "github_url": "https://github.com/tailguard/tailguard",
    "navbar_align": "left",
    "navigation_with_keys": True,
    "show_toc_level": 2,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
}
myst_heading_anchors = 4
myst_enable_extensions = ["colon_fence"]
autodoc_typehints = "description"
autodoc_typehints_description_target = "documented"
autodoc_member_order = "groupwise"
napoleon_google_docstring = False
napoleon_use_rtype = False
napoleon_use_ivar = True
napoleon_custom_sections = ["Guarantee", "Edge cases", ("Reference", "notes_style")]
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
copybutton_line_continuation_character = "\\"
sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "within_subsection_order": "FileNameSortKey",
    "filename_pattern": r"/\d",
    "download_all_examples": False,
    "show_memory": False,
    "min_reported_time": 1e6,
    "abort_on_example_error": True,
    "plot_gallery": "True",
    "remove_config_comments": True,
}


def reference_page(name: str) -> str:
    """Return the page of a public name."""
    value, path = getattr(tg, name), f"tailguard.{name}"
    title = f"tg.{name}"
    head = f"{title}\n{'=' * len(title)}\n\n"
    if inspect.isclass(value):
        options = "".join(f"   :{each}members:\n" for each in ("", "inherited-", "undoc-"))
        return f"{head}.. autoclass:: {path}\n{options}"
    if inspect.ismodule(value):
        members = {each: getattr(value, each) for each in getattr(value, "__all__", ())}
        parts = [
            f".. {kind}:: {path}.{each}\n"
            for kind, is_kind in (
                ("autoclass", inspect.isclass),
                ("autofunction", inspect.isroutine),
            )
            for each, member in members.items()
            if is_kind(member)
        ]
        return f"{head}.. automodule:: {path}\n   :no-members:\n\n" + "\n".join(parts)
    return f"{head}.. autofunction:: {path}\n"


def help_lines(text: str) -> list[str]:
    """Return the help of a command as a terminal shows it: wrapped, without marks of style."""
    lines = []
    for line in re.sub(r"\[/?bold\]", "", inspect.cleandoc(text).replace("\b", "")).splitlines():
        indent = " " * (len(line) - len(line.lstrip()))
        lines += textwrap.wrap(line, 88, subsequent_indent=indent) or [""]
    return lines


def command_page() -> str:
    """Return the page of the command line: the help of every command."""
    group = typer.main.get_command(commands)
    context = typer.Context(group, info_name="tailguard")
    lines = ["Command line", "============", ""]
    for name, command in sorted(group.commands.items()):
        usage = " ".join(command.collect_usage_pieces(context))
        lines += [f"tailguard {name}", "-" * (10 + len(name)), ""]
        lines += ["::", "", f"   tailguard {name} {usage}", ""]
        lines += ["::", "", *(f"   {line}" for line in help_lines(command.help or "")), ""]
        for parameter in command.params:
            flags = ", ".join(f"``{flag}``" for flag in parameter.opts)
            words = " ".join((getattr(parameter, "help", None) or "").split())
            lines.append(f"* {flags}: {words}" if words else f"* {flags}")
        lines.append("")
    return "\n".join(lines)


def llms_text() -> str:
    """Return the list of all pages for language models, from the tables of the sections."""
    index = (FOLDER / "index.md").read_text()
    lines = ["# tailguard", "", f"> {index.splitlines()[2]}", ""]
    for title, section in (
        ("Learn", "learn"), ("Explain", "explain"), ("Science", "science"), ("Reference", "api")
    ):  # fmt: skip
        text = (FOLDER / f"{section}.md").read_text()
        lines += [f"## {title}", "", f"- [{title}]({REPOSITORY}docs/{section}.md)"]
        for name, page, what in re.findall(r"^\| \[(.+?)\]\((.+?\.md)\) \| (.*) \|$", text, re.M):
            told = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", what)
            lines.append(f"- [{name}]({REPOSITORY}docs/{page}): {told}")
        lines.append("")
    return "\n".join(lines)


def write_reference() -> None:
    """Write a page for each public name, a page of commands, and their table of contents."""
    folder = FOLDER / "reference"
    folder.mkdir(exist_ok=True)
    names = [name for name in tg.__all__ if not name.startswith("__")]
    pages = {name: reference_page(name) for name in names} | {"cli": command_page()}
    listed = "\n".join(f"   {name}" for name in pages)
    pages["index"] = f"Every name\n==========\n\n.. toctree::\n   :maxdepth: 1\n\n{listed}\n"
    for name, text in pages.items():
        (folder / f"{name}.rst").write_text(text)
    (folder / "llms.txt").write_text(llms_text())


def outside_links(_app, _name, source) -> None:
    """Let links to files outside this folder lead to the repository."""
    outside = r"\]\((?:\.\./)+((?!mechanisms)[\w.-]+(?:/[^)]*)?(?:#[^)]*)?)\)"

    def repaired(link: re.Match[str]) -> str:
        page = FOLDER / link[1].partition("#")[0]
        return link[0] if page.exists() else f"]({REPOSITORY}{link[1]})"

    source[0] = re.sub(outside, repaired, source[0])


def is_routing(_app, _what, name, _value, _skip, _options) -> bool | None:
    """Leave out what scikit-learn adds to route metadata, and describes itself."""
    return True if name.endswith(("_request", "_metadata_routing")) else None


def signature_of(_app, what, _name, value, _options, _given, _answer) -> tuple[str, None] | None:
    """Show how a class is made; some check what they are given before that."""
    if what != "class" or value.__init__ is object.__init__ or issubclass(value, Exception):
        return None
    plain = [
        each.replace(annotation=each.empty) for each in inspect.signature(value).parameters.values()
    ]
    return str(inspect.Signature(plain)), None


def setup(app) -> None:
    """Write the reference before pages are read."""
    write_reference()
    app.connect("source-read", outside_links)
    app.connect("autodoc-process-signature", signature_of)
    app.connect("autodoc-skip-member", is_routing)
