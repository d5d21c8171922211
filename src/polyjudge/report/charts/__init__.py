"""Charts: one function each, results in and an Altair chart out. Page, notebooks and exported files use the same."""

from polyjudge.report.charts.interaction import interaction_heatmap
from polyjudge.report.charts.ranks import rank_lines, rank_probabilities, ranks_before_after

__all__ = ["interaction_heatmap", "rank_lines", "rank_probabilities", "ranks_before_after"]
