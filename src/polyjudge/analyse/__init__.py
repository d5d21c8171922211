"""Pure functions on a panel: Panel in, frozen result out."""

from polyjudge.analyse.held_out import Comparison, compare

__all__ = ["Comparison", "compare"]
