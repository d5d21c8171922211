"""`polyjudge audit`."""

from __future__ import annotations

from polyjudge.cli import options as o


def audit(
    scores: o.Scores,
    task: o.TaskColumn = None,
    language: o.LanguageColumn = None,
    judge: o.JudgeColumn = None,
    score: o.ScoreColumn = None,
    replicate: o.ReplicateColumn = None,
    group: o.GroupColumn = None,
    as_json: o.Json = False,
) -> None:
    """Show whether language changes the judges' ranking, how much and where.

    Example: polyjudge audit scores.csv --json > audit.json
    """
    panel = o.load(scores, task=task, language=language, judge=judge, score=score, replicate=replicate, group=group)
    print(panel)
