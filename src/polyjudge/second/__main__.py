"""`python -m polyjudge` is the `polyjudge` command."""

from __future__ import annotations

import gc
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import LazyLoader
from types import ModuleType


class Sparing:
    """An importer of less: pandas would load pyarrow, and scipy all of numpy, which nothing here needs."""

    @staticmethod
    def find_spec(name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> ModuleSpec | None:
        """Hide pyarrow from pandas alone; load those parts of numpy when they are used."""
        if name == "pyarrow" and "pandas" in sys.modules and not hasattr(sys.modules["pandas"], "DataFrame"):
            raise ModuleNotFoundError(name)
        if name == "duckdb":  # what is loaded by then stays to the end: no looking through it for garbage. The engine
            gc.freeze()  # itself is left out, because it complains of what is not given back
        found = PathFinder.find_spec(name, path) if name in ("numpy.f2py", "numpy.testing") else None
        if found is not None and found.loader is not None:
            found.loader = LazyLoader(found.loader)
        return found


def main() -> None:
    """The command line. An interrupt is heard while it loads, too."""
    gc.set_threshold(200_000)  # a short program has little to collect, and would look for it for 0.1 seconds
    sys.meta_path.insert(0, Sparing)
    try:
        from polyjudge.second.cli import main as run
    except KeyboardInterrupt:
        raise SystemExit(130) from None
    run()


if __name__ == "__main__":
    main()
