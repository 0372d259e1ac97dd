"""Compile functions with Numba, and keep the machine code in the user's cache folder.

The cache folder is ``NUMBA_CACHE_DIR`` if that is set. Otherwise it is ``tailguard`` in the
platform's folder for caches (``$XDG_CACHE_HOME`` or ``~/.cache`` on Linux). If it cannot be
written, every process compiles in memory. Nothing is written beside the sources.

Numba's own cache checks only the file of a compiled function. It misses changes in other functions
that it calls, and in constants from other files. Numba also numbers the files of a function, and
two processes may give the same number to two signatures or two closures. So each function,
signature and state of the sources has its own folder. Its name is a hash of the function and of the
content of every file that its machine code can depend on: the files of its module, of the functions
in its closure, and of their imports. Closures share a name, so the names of compiled closures
include a hash of what they call. The most recently used folders are kept. If
another process removes the folder of a function, the function is compiled again.

Loading Numba takes 0.3 s, so ``import tailguard`` does not do it.
"""

import os
import re
import shutil
import sys
from collections.abc import Callable, Iterable
from functools import cache
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryFile
from threading import RLock
from typing import Any, TypeVar

from tailguard.version import __version__

Function = TypeVar("Function", bound=Callable[..., Any])

PACKAGE = Path(__file__).parent
ROOMS = ("data", "losses", "means", "noise", "queries")
FOLDERS_KEPT = 300
"""The most folders in the cache: about eight states of all sources, 75 KB a folder (measured)."""
IMPORTS = re.compile(r"^[ ]*(?:import ([\w.]+)|from ([\w.]+) import (\([^)]*\)|.*))", re.MULTILINE)

BUILDERS: list[Callable[..., Any]] = []
"""Functions of all imported modules that compile a loop; each compiles one loop."""

_LOCK = RLock()  # Numba's cache folder is a setting of the whole process


def state_of_sources(package: Path) -> str:
    """Return a hash of all sources on which compiled code can depend."""
    return _hash_of(
        (source for room in ROOMS for source in (package / room).rglob("*.py")), package
    )


def _hash_of(sources: Iterable[Path], package: Path) -> str:
    state = sha256(__version__.encode())
    for source in sorted(sources):
        content = source.read_bytes()
        state.update(f"{source.relative_to(package).as_posix()} {len(content)} ".encode())
        state.update(content)
    return state.hexdigest()


def sources_of(modules: Iterable[str], package: Path) -> set[Path]:
    """Return the files of modules and of everything that they import, within ``ROOMS``."""
    waiting, sources = list(modules), set()
    while waiting:
        name = waiting.pop()
        stem = package.joinpath(*name.split(".")[1:])
        path = next(filter(Path.is_file, (stem.with_suffix(".py"), stem / "__init__.py")), None)
        if path and path not in sources and path.relative_to(package).parts[0] in ROOMS:
            sources.add(path)
            waiting += _imported_names(path.read_text(encoding="utf-8"), _package_of(name, path))
    return sources


def _package_of(name: str, path: Path) -> str:
    return name if path.stem == "__init__" else name.rpartition(".")[0]


def _imported_names(text: str, package: str) -> list[str]:
    """Return the names that a source of ``package`` imports, each of which may be a module."""
    modules = []
    for module, base, names in IMPORTS.findall(text):
        dots = len(base) - len(base.lstrip("."))
        parents = package.split(".")[: 1 - dots or None] if dots else []
        origin = module or ".".join([*parents, *filter(None, [base.lstrip(".")])])
        modules += [origin, *(f"{origin}.{name}" for name in re.findall(r"\w+", names))]
    return [name for name in modules if name.startswith("tailguard.")]


# If a source is edited later, its hash differs from that of the loaded code.
STATE_AT_IMPORT = state_of_sources(PACKAGE)


def builds_loop(build: Function) -> Function:
    """Decorate a function that compiles one loop; its argument, if any, is a type.

    The loop is compiled once per process and type. The function is added to ``BUILDERS``.
    """
    built: Any = cache(build)
    BUILDERS.append(built)
    return built


def compiled(function: Function, signature: Any, **options: Any) -> Function:
    """Compile ``function`` for one signature, or load its machine code, once per process.

    The machine code is not stored if the cache folder cannot be written or a source was edited
    since the import.
    """
    with _LOCK:
        machine_code: Function = _compiled(function, signature, **options)
    return machine_code


def read_only(element: str, n_axes: int = 1) -> str:
    """Return Numba's name of an array that a loop only reads; it may be writable, too."""
    return f"Array({element}, {n_axes}, 'C', readonly=True)"


@cache
def _compiled(function: Any, signature: Any, **options: Any) -> Any:
    content = _content(function)
    if function.__closure__:
        function.__qualname__ += f"_{_digest(content)}"
    folder = _folder(f"{signature} {options} {content}", _modules(function))
    if folder:
        try:
            return _specialised(_cached(function, folder, options), signature)
        except OSError:  # the disk is full, or another process has removed the folder just now
            pass
    return _specialised(_jit(function, options), signature)


def _specialised(dispatcher: Any, signature: Any) -> Any:
    """Compile one signature and refuse all others."""
    dispatcher.compile(signature)
    dispatcher.disable_compile()
    return dispatcher


def _jit(function: Any, options: dict[str, Any]) -> Any:
    """Return Numba's dispatcher of ``function``; ``fastmath`` in ``options`` is a frozen set."""
    import numba  # noqa: PLC0415 (see the module's docstring)

    flags = set(options.get("fastmath", ()))
    return numba.njit(**{**options, "fastmath": flags or False})(function)


def _cached(function: Any, folder: Path, options: dict[str, Any]) -> Any:
    """Return a dispatcher that stores its machine code in ``folder`` or, if it cannot, nowhere."""
    import numba  # noqa: PLC0415 (see the module's docstring)

    settings: Any = numba.config
    previous_folder = settings.CACHE_DIR
    settings.CACHE_DIR = str(folder)
    try:
        dispatcher = _jit(function, {**options, "cache": True})
        # If Numba cannot use the folder, it tries others, such as one beside the sources.
        if Path(dispatcher.stats.cache_path).is_relative_to(folder):
            return dispatcher
    except RuntimeError:  # Numba found no folder: the function was typed in, so it has no file
        pass
    finally:
        settings.CACHE_DIR = previous_folder
    return _jit(function, options)


def _content(function: Any) -> str:
    """Return a text that identifies a function by its name, its code and its closure."""
    code = getattr(function, "__code__", None)
    if code is None:
        return str(function) if isinstance(function, int | float | str) else str(type(function))
    constants = [constant for constant in code.co_consts if not hasattr(constant, "co_code")]
    cells = [_content(cell.cell_contents) for cell in function.__closure__ or ()]
    names = function.__module__, function.__qualname__, code.co_names, code.co_varnames
    return f"{names} {code.co_code.hex()} {constants} {cells}"


def _modules(function: Any) -> set[str]:
    """Return the modules of a function and of the functions in its closure."""
    modules = {str(getattr(function, "__module__", None))}
    for cell in getattr(function, "__closure__", None) or ():
        if not isinstance(cell.cell_contents, int | float | str):
            modules |= _modules(cell.cell_contents)
    return modules


def _digest(content: str) -> str:
    return sha256(content.encode()).hexdigest()[:32]


def _folder(content: str, modules: set[str]) -> Path | None:
    """Return a writable folder for one function and signature, or None to compile in memory."""
    import llvmlite  # type: ignore[import-untyped] # noqa: PLC0415 (see the module's docstring)
    import numba  # noqa: PLC0415

    settings: Any = numba.config
    cache_folder, state = _cache_folder(settings.CACHE_DIR), state_of_sources(PACKAGE)
    if cache_folder is None or state != STATE_AT_IMPORT:
        return None
    if all(name.startswith("tailguard.") for name in modules):
        state = _hash_of(sources_of(modules, PACKAGE), PACKAGE)
    versions = f"{numba.__version__} {llvmlite.__version__}"
    folder = cache_folder / f"tailguard-{_digest(f'{content} {state} {versions}')}"
    try:
        _mark_used(folder)
        # If the folder is not writable, Numba would use a folder beside the sources.
        TemporaryFile(dir=folder).close()
    except OSError:
        return None
    return folder


def _cache_folder(chosen: str) -> Path | None:
    """Return the cache folder that the user chose, or the platform's; None without a home."""
    if chosen:
        return Path(chosen).absolute()
    platform_folder = Path(
        os.environ.get("LOCALAPPDATA" if os.name == "nt" else "XDG_CACHE_HOME", "")
    )
    if platform_folder.is_absolute():
        return platform_folder / "tailguard"
    home_folders = {"win32": "AppData/Local", "darwin": "Library/Caches"}
    try:
        return Path.home() / home_folders.get(sys.platform, ".cache") / "tailguard"
    except RuntimeError:  # this user has no home
        return None


def _mark_used(folder: Path) -> None:
    """Mark a folder as used now. If it is new, keep only the latest ``FOLDERS_KEPT`` folders."""
    is_new = not folder.exists()
    folder.mkdir(parents=True, exist_ok=True)
    os.utime(folder)
    if is_new:
        folders = folder.parent.glob(f"tailguard-{'[0-9a-f]' * 32}")
        for unused in sorted(folders, key=_last_use, reverse=True)[FOLDERS_KEPT:]:
            shutil.rmtree(unused, ignore_errors=True)


def _last_use(folder: Path) -> float:
    """Return when a process last used a folder; 0 if another process has removed it."""
    try:
        return folder.stat().st_mtime
    except OSError:
        return 0.0
