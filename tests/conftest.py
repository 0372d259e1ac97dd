"""Settings of the whole suite: fixed examples, and compiled code that fits the sources."""

import os
from hashlib import sha256
from pathlib import Path
from tempfile import gettempdir

from hypothesis import settings

settings.register_profile("fixed", derandomize=True, deadline=None, database=None)
settings.load_profile("fixed")

# Numba looks at the file of a compiled function alone, and not at those of what it calls. A cache
# of its own for every state of the sources keeps the suite from running machine code of another.
SOURCES = Path(__file__).parents[1] / "src" / "tailguard"
STATE = sha256()
for room in ("kernels", "losses"):
    for source in sorted((SOURCES / room).rglob("*.py")):
        STATE.update(source.read_bytes())
CACHE = Path(gettempdir()) / f"tailguard-{STATE.hexdigest()[:16]}"
os.environ.setdefault("NUMBA_CACHE_DIR", str(CACHE))
