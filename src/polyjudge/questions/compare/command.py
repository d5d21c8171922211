"""`polyjudge compare`."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Context, Option

from polyjudge.panel.errors import UsageError
from polyjudge.questions import options as o

if TYPE_CHECKING:
    import pandas as pd

    from polyjudge.panel.panel import Panel
    from polyjudge.report.result import Result


class Protocol(StrEnum):
    """What is left out, and what is asked of the rest."""

    held_out = "held-out"
    unseen_language = "unseen-language"
    unseen_judge = "unseen-judge"
    decisions = "decisions"
    judges = "judges"
    tasks = "tasks"
    groups = "groups"


FailOn = StrEnum("FailOn", {"not_advised": "not-advised"})
"""Findings that make the command exit 1."""


SHOTS = "0,3,5,10,20"
BELONGS = {"--methods": ("held-out",), "--shots": ("unseen-language", "unseen-judge"), "--sizes": ("judges", "tasks")}
"""Options that only some protocols use."""


def compare(
    ctx: Context,
    scores: o.Scores,
    protocol: Annotated[
        Protocol,
        Option(
            help="held-out: methods on left-out tasks. unseen-language, unseen-judge: a newcomer with no or few scored "
            "tasks. decisions: picking the top judge. judges, tasks, groups: fewer of them, or slices."
        ),
    ] = Protocol.held_out,
    methods: Annotated[
        str | None, Option(help="Methods of the held-out protocol, separated by commas, or all (the default).")
    ] = None,
    resamples: Annotated[
        int | None,
        Option(
            "--resamples",
            min=1,
            max=o.MOST_RESAMPLES,
            help="Resamples of the tasks; default 1,000, and 100 for judges and tasks.",
        ),
    ] = None,
    shots: Annotated[str | None, Option(help="Numbers of scored tasks of a newcomer; default 0,3,5,10,20.")] = None,
    sizes: Annotated[str | None, Option(help="Numbers of judges or tasks to try, separated by commas.")] = None,
    fail_on: Annotated[
        FailOn | None, Option(help="Exit 1 when calibrating is not advised (held-out protocol).")
    ] = None,
    seed: o.Seed = 7,
) -> None:
    """Compare calibration with other methods on tasks they have not seen.

    Example: polyjudge compare scores.csv --methods raw,cbc,combat-eb --seed 7
    """
    from polyjudge.questions.emit import emit

    if fail_on is FailOn.not_advised and protocol is not Protocol.held_out:
        raise UsageError("--fail-on not-advised goes with --protocol held-out, which measures the gain.")
    _check_options(protocol.value, {"--methods": methods, "--shots": shots, "--sizes": sizes})
    few, numbers = _numbers("--shots", shots or SHOTS), None if sizes is None else _numbers("--sizes", sizes)
    panel = o.load(ctx, scores)
    result = _run(panel, protocol.value, methods or "all", resamples, few, numbers, seed)
    emit(ctx, result, panel, tables=_tables(result), more={"protocol": protocol.value})
    advice = getattr(result, "advice", None)
    if fail_on is FailOn.not_advised and advice is not None and not advice.calibrate:
        raise typer.Exit(1)


def _run(
    panel: Panel,
    protocol: str,
    methods: str,
    resamples: int | None,
    shots: list[int],
    sizes: list[int] | None,
    seed: int,
) -> Result:
    import polyjudge as pj

    many = {} if resamples is None else {"resamples": resamples}
    if protocol == "held-out":
        return pj.compare(panel, methods.split(",") if methods != "all" else None, seed=seed, **many)  # type: ignore[no-any-return]
    if protocol in ("unseen-language", "unseen-judge"):
        unseen = pj.unseen_language if protocol == "unseen-language" else pj.unseen_judge
        return unseen(panel, shots, seed=seed, **many)  # type: ignore[no-any-return]
    if protocol == "decisions":
        return pj.decisions(panel, seed=seed, **many)  # type: ignore[no-any-return]
    return pj.ablate(panel, protocol, sizes, seed=seed, **many)  # type: ignore[no-any-return]


def _tables(result: Result) -> dict[str, pd.DataFrame]:
    """The main table and whatever else the protocol has."""
    more = ("differences", "language_pairs", "curve", "languages")
    return {"compare": result.to_frame(), **{n: getattr(result, n) for n in more if hasattr(result, n)}}


def _check_options(protocol: str, given: dict[str, str | None]) -> None:
    for flag, value in given.items():
        if value is not None and protocol not in BELONGS[flag]:
            raise UsageError(
                f"{flag} goes with --protocol {' or '.join(BELONGS[flag])}, not with {protocol}, which does not use it."
            )


def _numbers(flag: str, text: str) -> list[int]:
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise UsageError(f"{flag} takes whole numbers separated by commas, for example 3,5,10, not {text!r}.") from None
