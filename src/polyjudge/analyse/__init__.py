"""Pure functions on a panel: Panel in, frozen result out."""

from polyjudge.analyse.audit import Audit, audit
from polyjudge.analyse.findings import Finding
from polyjudge.analyse.held_out import Comparison, compare
from polyjudge.analyse.reversal import RankReversals, rank_reversals
from polyjudge.analyse.ties import TiedSets, tied_sets
from polyjudge.analyse.uncertainty import Uncertainty, uncertainty

__all__ = [
    "Audit",
    "Comparison",
    "Finding",
    "RankReversals",
    "TiedSets",
    "Uncertainty",
    "audit",
    "compare",
    "rank_reversals",
    "tied_sets",
    "uncertainty",
]
