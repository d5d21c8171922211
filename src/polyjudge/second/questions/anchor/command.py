"""`polyjudge anchor`."""

from __future__ import annotations

import shlex
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import Annotated

from typer import Argument, Context, Option

from polyjudge.second.panel.errors import UsageError
from polyjudge.second.questions import options as o

Kind = StrEnum("Kind", "preference score")
"""What labels are."""


def anchor(
    ctx: Context,
    scores: o.Scores,
    gold: Annotated[
        str | None, Argument(metavar="GOLD", help="Human labels: task, language, and preference (+1, -1, 0) or score.")
    ] = None,
    labels: Annotated[
        str | None, Option(metavar="DIR", help="Labels: the folder of label make, or a file like GOLD.")
    ] = None,
    trusted: Annotated[str | None, Option(help="Take this judge as the human, instead of GOLD.")] = None,
    kind: Annotated[Kind | None, Option(help="Which labels to take, when GOLD has both.")] = None,
    threshold: Annotated[float | None, Option(help="With human scores: decide by 'above this score'.")] = None,
    label_scale: Annotated[
        str | None, Option(metavar="LOW:HIGH", help="Scale of human scores, carried over to the panel's range.")
    ] = None,
    contradictions: Annotated[str, Option(help="Two labels for one task and language: error, mean or drop.")] = "error",
    sample: Annotated[
        int | None, Option(min=1, help="Use at most this many labels per language, in proportion to groups.")
    ] = None,
    probed: Annotated[
        str | None, Option(metavar="CSV", help="probes.csv of probe -o: do probes and labels say the same?")
    ] = None,
    matters: o.Matters = None,
    resamples: Annotated[int, Option(min=2, max=o.MOST_RESAMPLES, help="Resamples of the tasks.")] = 1000,
    seed: o.Seed = 7,
) -> None:
    """Hold the panel against human labels.

    Annotators first, then the panel's error by language and what removes it.

    Example: polyjudge anchor scores.csv --labels labels/

    Example: polyjudge anchor scores.csv gold.csv --seed 7

    Example: polyjudge anchor scores.csv --trusted Aster
    """
    from polyjudge.second.questions.anchor.anchors import anchor as analyse
    from polyjudge.second.questions.emit import emit
    from polyjudge.second.read.scores import read_gold
    from polyjudge.second.report import report_of

    if sum(x is not None for x in (gold, labels, trusted)) != 1:
        raise UsageError("Give labels (GOLD or --labels DIR) or a trusted judge (--trusted), one of them.")
    gold = gold if labels is None else labels
    scale = o.parse_range(label_scale, "--label-scale")
    panel = o.load(ctx, scores, inside=True)
    result = analyse(
        panel,
        None if gold is None else read_gold(gold),
        trusted=trusted,
        kind=None if kind is None else kind.value,  # type: ignore[arg-type]  # one of the two
        threshold=threshold,
        scale=scale,
        contradictions=contradictions,  # type: ignore[arg-type]  # checked there
        sample=sample,
        probed=None if probed is None else read_gold(probed),
        matters=matters,
        resamples=resamples,
        seed=seed,
    )
    report = report_of(result, panel)
    assert report is not None
    # a table of labels has no folder of pages that could get more
    old, new = ("", "") if gold and Path(gold).is_dir() else ("-o LABELS --more", "--items ITEMS")
    steps = [
        replace(s, command=s.command.replace(old, new).replace("LABELS", shlex.quote(gold or ""))) for s in report.next
    ]
    emit(ctx, replace(report, next=tuple(steps)), tables=result.tables())
