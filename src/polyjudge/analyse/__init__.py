"""Pure functions on a panel: Panel in, frozen result out."""

from polyjudge.analyse.ablations import Ablation, ablate
from polyjudge.analyse.audit import Audit, audit
from polyjudge.analyse.decisions import Decisions, decisions
from polyjudge.analyse.gates import Gates, gates
from polyjudge.analyse.held_out import Comparison, compare
from polyjudge.analyse.information import Information, information
from polyjudge.analyse.planning import Plan, plan
from polyjudge.analyse.reversal import RankReversals, rank_reversals
from polyjudge.analyse.sensitivity import Sensitivity, sensitivity
from polyjudge.analyse.structure import Structure, structure
from polyjudge.analyse.ties import TiedSets, tied_sets
from polyjudge.analyse.uncertainty import Uncertainty, uncertainty
from polyjudge.analyse.unseen import Unseen, unseen_judge, unseen_language
from polyjudge.analyse.variance import Variance, variance
from polyjudge.core.sections import Finding

__all__ = [
    "Ablation",
    "Audit",
    "Comparison",
    "Decisions",
    "Finding",
    "Gates",
    "Information",
    "Plan",
    "RankReversals",
    "Sensitivity",
    "Structure",
    "TiedSets",
    "Uncertainty",
    "Unseen",
    "Variance",
    "ablate",
    "audit",
    "compare",
    "decisions",
    "gates",
    "information",
    "plan",
    "rank_reversals",
    "sensitivity",
    "structure",
    "tied_sets",
    "uncertainty",
    "unseen_judge",
    "unseen_language",
    "variance",
]
