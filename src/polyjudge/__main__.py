"""`python -m polyjudge` is the `polyjudge` command."""

from __future__ import annotations

import gc
import sys


class WithoutArrow:
    """An importer that hides pyarrow from pandas alone, which would load it for 0.1 seconds; here it needs none."""

    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> None:
        """Stop pandas where it asks for pyarrow; leave everything else to the other importers."""
        if name == "pyarrow" and "pandas" in sys.modules and not hasattr(sys.modules["pandas"], "DataFrame"):
            raise ModuleNotFoundError(name)


def main() -> None:
    """The command line. An interrupt is heard while it loads, too."""
    gc.set_threshold(50_000)  # a short program has little to collect, and would look for it for 0.1 seconds
    sys.meta_path.insert(0, WithoutArrow)
    try:
        from polyjudge.cli import main as run
    except KeyboardInterrupt:
        raise SystemExit(130) from None
    run()


if __name__ == "__main__":
    main()
