"""HELM's statistics of each instance: the mean of each metric is a score, the metric a criterion."""

from __future__ import annotations

import re

from polyjudge.read.tools import Record, Rows, number

TITLE = "statistics of HELM"
FITS = ({"instance_id", "stats.count", "stats.sum"},)
ABOUT_THE_RUN = re.compile(r"num_.*|.*_cost|inference_.*|batch_size|finish_reason_.*|logprob.*|max_prob|prompt_.*")
"""Statistics of the call, and no scores of the answer."""


def rows(record: Record) -> Rows:
    """One row for each metric of an instance."""
    for stat in record["stats"]:
        metric = stat["name"]["name"]
        if stat.get("count") and not ABOUT_THE_RUN.fullmatch(metric):
            yield {
                "task": record["instance_id"],
                "replicate": record.get("train_trial_index"),
                "judge": "HELM",
                "metric": metric,
                "score": number(stat.get("mean")),
            }
