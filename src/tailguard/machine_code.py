"""Compile functions with Numba, and keep their machine code on disk while its sources stay.

Numba itself looks at the file of a compiled function alone, and not at the files of what that
function calls or the constants that it takes from them: after a change there, code of before would
run. Here machine code is kept in a folder named after every source that it can depend on. Other
folders are left alone, since other processes may use them: a folder holds a megabyte at most.

Numba numbers the files of a function's machine code, and two processes may take one number for the
code of two signatures, or of two functions that are made in one place: one then runs for the other.
So each function and signature has a folder of its own in that one, whose files are all the same.
Nor do names tell functions apart that are made in one place: code of one that another process has
compiled would stand for all of that name. So what they call is part of their names.

Loading Numba takes 0.3 s, which ``import tailguard`` need not wait for.
"""

import os
from collections.abc import Callable, Iterator
from functools import cache
from hashlib import sha256
from pathlib import Path
from threading import RLock
from typing import Any, TypeVar

from tailguard.version import __version__

Function = TypeVar("Function", bound=Callable[..., Any])

PACKAGE = Path(__file__).parent
ROOMS = ("kernels", "losses", "noise")

BUILDERS: list[Callable[..., Any]] = []
"""What compiles the loops of all modules that were imported, each by itself."""

_LOCK = RLock()  # where machine code is kept is a setting of the process


def state_of_sources(package: Path) -> str:
    """Return a name for the content of all that compiled code can depend on, but for Numba.

    Examples
    --------
    >>> len(state_of_sources(PACKAGE))
    64
    """
    state = sha256(__version__.encode())
    for room in ROOMS:
        for source in sorted((package / room).rglob("*.py")):
            content = source.read_bytes()
            state.update(f"{source.relative_to(package).as_posix()} {len(content)} ".encode())
            state.update(content)
    return state.hexdigest()


# A source that was edited since may not be the one that this process has read.
STATE_AT_IMPORT = state_of_sources(PACKAGE)


def builds_loop(build: Function) -> Function:
    """Decorate a function that compiles one loop, for the type that its argument names if any.

    It compiles once in a process, and is among ``BUILDERS``.

    Examples
    --------
    >>> @builds_loop
    ... def halve():
    ...     return compiled(lambda number: number / 2, "float64(float64)")
    >>> halve()(4.0), halve in BUILDERS
    (2.0, True)
    """
    built: Any = cache(build)
    BUILDERS.append(built)
    return built  # type: ignore[no-any-return]


def compiled(function: Function, signature: Any, **options: Any) -> Function:
    """Compile ``function`` for one signature, or load its machine code; once in a process.

    Nothing is kept where no folder can be written, or where a source was edited since the import.

    Examples
    --------
    >>> def double(number: float) -> float:
    ...     return 2 * number
    >>> compiled(double, "float64(float64)", nogil=True)(4)
    8.0
    """
    with _LOCK:
        found: Function = _compiled(function, signature, **options)
    return found


@cache
def _compiled(function: Any, signature: Any, **options: Any) -> Any:
    content = _content(function)
    if function.__closure__:
        function.__qualname__ += f"_{_digest(content)}"
    dispatcher = _dispatcher(function, options, f"{signature} {options} {content}")
    dispatcher.compile(signature)
    dispatcher.disable_compile()
    return dispatcher


def _content(function: Any) -> str:
    """Return what tells a function from others of its name: its code, and that of what it calls."""
    code = getattr(function, "__code__", None)
    if code is None:
        return str(function) if isinstance(function, int | float | str) else str(type(function))
    constants = [one for one in code.co_consts if not hasattr(one, "co_code")]
    cells = [_content(cell.cell_contents) for cell in function.__closure__ or ()]
    names = function.__module__, function.__qualname__, code.co_names, code.co_varnames
    return f"{names} {code.co_code.hex()} {constants} {cells}"


def _dispatcher(function: Callable[..., Any], options: dict[str, Any], content: str) -> Any:
    import numba  # noqa: PLC0415 (see the module's docstring)

    settings: Any = numba.config
    state = state_of_sources(PACKAGE)
    for base in _bases(settings.CACHE_DIR) if state == STATE_AT_IMPORT else ():
        folder, chosen = _folder(base, state, content), settings.CACHE_DIR
        settings.CACHE_DIR = str(folder)
        try:
            dispatcher = numba.njit(cache=True, **options)(function)
        except RuntimeError:  # Numba found no folder at all
            continue
        finally:
            settings.CACHE_DIR = chosen
        # Where Numba cannot write it goes elsewhere, to code that follows one file only.
        if Path(dispatcher.stats.cache_path).is_relative_to(folder):
            return dispatcher
    return numba.njit(**options)(function)


def _folder(base: Path, state: str, content: str) -> Path:
    import llvmlite  # type: ignore[import-untyped] # noqa: PLC0415
    import numba  # noqa: PLC0415

    tools = sha256(f"{state} {numba.__version__} {llvmlite.__version__}".encode())
    return base / f"tailguard-{tools.hexdigest()[:32]}" / _digest(content)


def _digest(content: str) -> str:
    return sha256(content.encode()).hexdigest()[:32]


def _bases(chosen: str) -> Iterator[Path]:
    """Yield the folder that the user has chosen, then that beside the sources, then the user's."""
    if chosen:
        yield Path(chosen).absolute()
    yield PACKAGE.absolute() / "__pycache__"
    own = os.environ.get("LOCALAPPDATA" if os.name == "nt" else "XDG_CACHE_HOME")
    yield Path(own or os.path.expanduser("~/.cache")).absolute() / "tailguard"
