"""Pure functions on a panel: Panel in, frozen result out."""

from polyjudge.analyse.audit import Audit, audit
from polyjudge.analyse.findings import Finding
from polyjudge.analyse.gates import Gates, gates
from polyjudge.analyse.held_out import Comparison, compare
from polyjudge.analyse.information import Information, information
from polyjudge.analyse.planning import Plan, plan
from polyjudge.analyse.reversal import RankReversals, rank_reversals
from polyjudge.analyse.sensitivity import Sensitivity, sensitivity
from polyjudge.analyse.structure import Structure, structure
from polyjudge.analyse.ties import TiedSets, tied_sets
from polyjudge.analyse.uncertainty import Uncertainty, uncertainty
from polyjudge.analyse.variance import Variance, variance

__all__ = [
    "Audit",
    "Comparison",
    "Finding",
    "Gates",
    "Information",
    "Plan",
    "RankReversals",
    "Sensitivity",
    "Structure",
    "TiedSets",
    "Uncertainty",
    "Variance",
    "audit",
    "compare",
    "gates",
    "information",
    "plan",
    "rank_reversals",
    "sensitivity",
    "structure",
    "tied_sets",
    "uncertainty",
    "variance",
]
