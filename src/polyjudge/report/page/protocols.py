"""What the pages of the other protocols of `compare` show: newcomers, decisions, ablations."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from polyjudge.core.labels import clean
from polyjudge.core.results import Result
from polyjudge.report import charts
from polyjudge.report.page.model import Column, Figure, Section, table

if TYPE_CHECKING:
    from polyjudge.analyse.ablations import Ablation
    from polyjudge.analyse.decisions import Decisions
    from polyjudge.analyse.unseen import Unseen

Parts = tuple[str, tuple[str, ...], tuple[Section, ...]]
"""Title, verdict and sections."""


def protocol_parts(result: Result) -> Parts:
    """Title, verdict and sections of a result of `compare`."""
    from polyjudge.analyse.ablations import Ablation
    from polyjudge.analyse.decisions import Decisions
    from polyjudge.analyse.unseen import Unseen

    if isinstance(result, Unseen):
        return _unseen(result)
    if isinstance(result, Decisions):
        return _decisions(result)
    if isinstance(result, Ablation):
        return _ablation(result)
    raise TypeError(f"There is no page for a result of type {type(result).__name__}.")


def _unseen(u: Unseen) -> Parts:
    o = u.overall
    verdict = [
        f"With no task of it scored, a new {u.what} agrees with the others at tau {o['zero_shot']:.3f} "
        f"[{o['zero_shot_low']:.3f}, {o['zero_shot_high']:.3f}] after calibrating the others, "
        f"{o['raw']:.3f} [{o['raw_low']:.3f}, {o['raw_high']:.3f}] raw.",
        u.identity,
    ]
    if u.enough is not None:
        verdict.insert(1, f"{u.enough} scored tasks reach 95% of what all drawn tasks give (tau {u.full:.3f}).")
    columns = {
        u.what: Column(u.what),
        "raw": Column("tau, raw", 3, low="raw_low", high="raw_high"),
        "zero_shot": Column("tau, no task scored", 3, low="zero_shot_low", high="zero_shot_high"),
    }
    curve = {
        "shots": Column("scored tasks", 0),
        "tau": Column("tau", 3, low="low", high="high"),
        "share": Column("share of the gain of all tasks", 1, percent=True),
    }
    sections = [
        Section(
            "newcomer",
            f"Each {u.what} as a newcomer",
            blocks=(table(u.table, "Agreement with the others on left-out tasks", columns),),
        )
    ]
    if len(u.curve) > 1:
        figure = Figure(
            "few-shot",
            (charts.few_shot_curve(u.curve, u.what, u.full),),
            "Agreement by number of scored tasks.",
            f"From {u.curve['tau'].iloc[0]:.3f} with {int(u.curve['shots'].iloc[0])} tasks to "
            f"{u.curve['tau'].iloc[-1]:.3f} with {int(u.curve['shots'].iloc[-1])}. The dashed line is what all drawn "
            "tasks give; the band holds 95% of the resamplings.",
            table(u.curve, "Agreement by number of scored tasks", curve, judges=()),
        )
        sections.append(Section("curve", "With some of its tasks scored", blocks=(figure,)))
    return f"A new {u.what}", (*verdict, *_notes(u)), tuple(sections)


def _decisions(d: Decisions) -> Parts:
    best = d.table.sort_values("accuracy", ascending=False).iloc[0]
    verdict = (
        f"Picking the top judge of each language by {clean(best['method'])} meets the target in {best['accuracy']:.1%} "
        f"[{best['accuracy_low']:.1%}, {best['accuracy_high']:.1%}] of {d.decisions:,} decisions.",
        clean(d.target, 800),
        "The interval of a share is the exact binomial one over all decisions; they share tasks, so it is too narrow.",
    )
    columns = {
        "method": Column("chosen by"),
        "accuracy": Column("meets the target", 1, percent=True, low="accuracy_low", high="accuracy_high"),
        "regret": Column("regret, points", 2, low="regret_low", high="regret_high"),
    }
    by = {
        "method": Column("chosen by"),
        "language": Column("language"),
        "accuracy": Column("meets the target", 1, percent=True),
        "regret": Column("regret, points", 2),
        "chosen": Column("chosen most often"),
        "chosen_share": Column("in", 1, percent=True),
    }
    sections = (
        Section("decisions", "All languages", blocks=(table(d.table, "Decisions on left-out tasks", columns),)),
        Section(
            "languages",
            "By language",
            lead=("Shares and means over the resamplings; intervals are given over all languages above.",),
            blocks=(table(d.languages, "Decisions by language", by, judges=("chosen",)),),
        ),
    )
    return "Picking the top judge", (*verdict, *_notes(d)), sections


def _ablation(a: Ablation) -> Parts:
    title = {"judges": "Fewer judges", "tasks": "Fewer tasks", "groups": "Each group on its own"}[a.by]
    first = [c for c in ("judges", "subsets", "group", "tasks") if c in a.table]
    columns = {
        **{c: Column(c, None if c == "group" else 0) for c in first},
        "raw": Column("tau, raw", 3),
        "tau": Column("tau, calibrated", 3, low="low", high="high"),
        "gain": Column("gain, points squared", 2, True, "gain_low", "gain_high"),
    }
    if "error" in a.table:
        columns |= {"error": Column("mean error of the interaction", 2), "bound": Column("bound", 2)}
    names = pd.Series([str(x) for x in a.table[first[0]]], index=a.table.index)
    figure = Figure(
        "ablation",
        (
            charts.intervals(
                a.table.assign(name=names), "name", "tau", f"{title}: agreement on left-out tasks", "mean tau"
            ),
        ),
        f"{title}.",
        f"Agreement of the languages after calibrating, by {clean(first[0])}; intervals are over resamplings.",
        table(a.table, title, columns, judges=()),
    )
    last = a.table.iloc[-1]
    best = (
        f"After calibrating, the languages agree on left-out tasks at tau {last['tau']:.3f} [{last['low']:.3f}, "
        f"{last['high']:.3f}] with {clean(first[0])} {clean(last[first[0]])}; the squared error falls by "
        f"{last['gain']:.3g} points squared [{last['gain_low']:.3g}, {last['gain_high']:.3g}]."
    )
    verdict = (best, *(x for x in (clean(a.identity, 800), clean(a.scope, 800)) if x))
    return title, (*verdict, *_notes(a)), (Section("ablation-section", title, blocks=(figure,)),)


def _notes(result: Result) -> tuple[str, ...]:
    return tuple(clean(n, 400) for n in getattr(result, "notes", ()))
