"""`polyjudge audit`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from typer import Context, Option

from polyjudge.second.questions import options as o

if TYPE_CHECKING:
    from polyjudge.second.questions.audit.audit import Audit, Inside


At = Annotated[float | None, Option(help="Audit the pass rates of a gate at this score too.")]
AtLeast = Annotated[
    bool, Option("--at-least/--above", help="A task passes at that score too (>=), or only above it (>).")
]
Sweep = Annotated[str | None, Option(metavar="FIRST:LAST:STEP", help="More pass marks, as 10:70:5.")]
Base = Annotated[str | None, Option(help="Language the gate contrasts with the others.")]
Cell = Annotated[
    str | None, Option(metavar="LANGUAGE,JUDGE", help="Describe this cell, off or not, and show its answers.")
]
Drop = Annotated[
    list[str] | None, Option(metavar="LANGUAGE,JUDGE", help="Leave out this cell. May be given several times.")
]
Goal = Annotated[
    str | None,
    Option(
        "--goal",
        metavar="GOAL",
        help="What the panel is for: compare-systems, gate (with --at), rank-judges, best-judge-per-language or "
        "panel-mean. The advice is then about that alone.",
    ),
]
Probes = Annotated[
    str | None, Option(metavar="SCORES", help="Scores of probes (or a run that has them): error or competence?")
]


def audit(
    ctx: Context,
    scores: o.Scores,
    at: At = None,
    at_least: AtLeast = False,
    sweep: Sweep = None,
    base: Base = None,
    cell: Cell = None,
    items: o.Items = None,
    drop: Drop = None,
    criterion: o.Criterion = None,
    criteria: o.Criteria = None,
    matters: o.Matters = None,
    goal: Goal = None,
    probes: Probes = None,
    resamples: o.Resamples = 1000,
    seed: o.Seed = 7,
) -> None:
    """Say what is wrong with a panel, whether it matters, and what to do.

    Example: polyjudge audit scores.csv --at 50 --fail-on serious
    """
    from polyjudge.second.questions.audit.advise import check_goal
    from polyjudge.second.questions.audit.audit import audit as analyse
    from polyjudge.second.questions.audit.explanation import parse_cell, without_cells
    from polyjudge.second.questions.audit.pass_rates import parse_sweep
    from polyjudge.second.questions.emit import emit
    from polyjudge.second.read import read_probes

    panels = o.load_criteria(ctx, scores, criterion, criteria)
    if drop:
        panels = {c: without_cells(p, [parse_cell(place, p) for place in drop]) for c, p in panels.items()}
    panel = next(iter(panels.values()))
    options: dict[str, Any] = {
        "seed": seed,
        "resamples": resamples,
        "threshold": at,
        "at_least": at_least,
        "sweep": parse_sweep(sweep) if sweep else (),
        "base": base,
        "cell": None if cell is None else parse_cell(cell, panel),
        "items": items,
        "matters": matters,
        "goal": check_goal(goal),
        "probes": None if probes is None else read_probes(probes),
    }
    if len(panels) > 1:
        from polyjudge.second.questions.audit.by_criterion import audit_criteria

        joint = audit_criteria(panels, **options)
        return emit(ctx, joint, panel, tables={"criteria": joint.table, "alike": joint.same})
    result = o.run(analyse, panel, **options)
    emit(ctx, result, panel, tables=_tables(result))


def _tables(result: Audit | Inside) -> dict[str, Any]:
    """What is written beside the page."""
    if result.explanation is None or result.uncertainty is None:
        inside = {} if result.means is None else {"means": result.means}
        return inside if result.systems is None else {**inside, "leaderboard": result.systems.leaderboard.systems}
    tables = {
        "cells": result.uncertainty.to_frame(),
        "explained": result.explanation.to_frame(),
        "worst": result.explanation.worst if result.answers is None else result.answers,
    }
    if result.reversals is not None and result.ranks is not None:
        tables["reversals"] = result.reversals.to_frame()
        tables["ranks"] = result.ranks.to_frame().drop(columns="tied_with")
    if result.gates is not None:
        tables |= {"gate": result.gates.cells, "sweep": result.gates.sweep}
    return tables if result.probes is None else {**tables, "probes": result.probes.cells}
