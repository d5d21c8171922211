"""`polyjudge anchor` on the terminal."""

from __future__ import annotations

from typing import Any

import pandas as pd
from rich.console import Console

from polyjudge.analyse.anchors import Anchor
from polyjudge.analyse.helped import Helped
from polyjudge.analyse.ppi import LanguageMeans
from polyjudge.core.labels import clean
from polyjudge.report.older.base import heading, interval, make_console, number, say, show

MARKS = {"helped": "+", "hurt": "-", "cannot tell": "?"}
STYLES = {"+": "green", "-": "bold red", "?": "dim"}


def show_anchor(result: Anchor, console: Console | None = None) -> None:
    """Print every part that the labels allow."""
    console = console or make_console()
    _comparison(console, result)
    if result.panel_gain is not None:
        _panel_gain(console, result)
    if result.helped is not None:
        _helped(console, result.helped)
    if result.nearest is not None:
        _nearest(console, result.nearest)
    if result.shift is not None:
        _shift(console, result)
    _means(console, result.means)
    _worth(console, result)
    notes = [*result.notes, *(result.shift.notes if result.shift else ()), *result.means.notes, *result.worth.notes]
    notes += result.helped.notes if result.helped else ()
    if notes:
        heading(console, "Notes")
    for note in dict.fromkeys(notes):
        say(console, f"- {clean(note, 400)}", "yellow")


def _records(frame: pd.DataFrame) -> list[dict[Any, Any]]:
    return frame.to_dict("records")


def _value(row: dict[Any, Any], word: str, scale: float = 1.0, digits: int = 1, sign: bool = False) -> str:
    """A number with its interval, or with a word where there is none."""
    if row[word] is None or pd.isna(row[word]):
        return "–"
    low, high = row[f"{word}_low"], row[f"{word}_high"]
    value = number(scale * row[word], digits, sign)
    if pd.isna(low):
        return f"{value} (no interval)"
    return f"{value} {interval(scale * low, scale * high, digits, sign)}"


def _comparison(console: Console, result: Anchor) -> None:
    labels = int(result.labels.sum())
    agreement = result.measure == "agreement"
    what = "Agreement in % with" if agreement else "Mean squared error in points squared against"
    whose = "human labels" if result.trusted is None else f"scores of {clean(result.trusted)}, taken as human"
    heading(console, f"{what} {labels} {whose} (95% intervals over tasks)")
    scale, rows = 100.0 if agreement else 1.0, _records(result.table)
    columns: dict[str, Any] = {
        "decision" if agreement else "score of": result.table["decision"],
        "raw": [_value(r, "raw", scale) for r in rows],
        "calibrated": [_value(r, "calibrated", scale) for r in rows],
        "gain": ["0 by arithmetic" if r["identity"] else _value(r, "gain", scale, 1, True) for r in rows],
        "changed": result.table["changed"],
    }
    if agreement:
        columns |= {"from ties": result.table["broken_ties"], "AUC": [number(x) for x in result.table["auc"]]}
    show(console, pd.DataFrame(columns))
    i = result.invariance
    verdict = "checked" if i.holds else "NOT met, please report it"
    say(
        console,
        f"The panel mean cannot change: calibration leaves it where it was ({verdict}: {i.changed} of {i.entries} "
        f"decisions changed, largest move {i.largest_change:.1g} points).",
    )
    if i.incomplete:
        say(console, f"{i.incomplete} labelled entries lack a judge's score; there the mean of the others can move.")
    if agreement:
        say(
            console,
            "Ties count as no agreement. A judge's agreement can move only because calibration moves its threshold: "
            "its AUC inside a language stays. Decisions that changed from a tie were pushed to one side, not informed.",
            "dim",
        )


def _panel_gain(console: Console, result: Anchor) -> None:
    assert result.panel_gain is not None
    heading(console, "Gain over the whole panel (fall of the mean squared error, points squared)")
    rows = _records(result.panel_gain.table)
    show(
        console,
        pd.DataFrame(
            {
                "calibration fitted on": [r["fit"] for r in rows],
                "measured with labels": [_value(r, "with_labels", digits=2, sign=True) for r in rows],
                "known without labels": [_value(r, "label_free", digits=2, sign=True) for r in rows],
            }
        ),
    )
    say(
        console,
        "Both estimate the same gain and are equal when every task is labelled. On the same tasks it is arithmetic.",
        "dim",
    )


def _helped(console: Console, helped: Helped) -> None:
    heading(console, "Whom does calibration help (+), whom does it hurt (-)?")
    cells = helped.cells
    marks = cells.assign(mark=cells["verdict"].map(MARKS))
    grid = marks.pivot(index="language", columns="judge", values="mark")
    grid = grid.loc[list(dict.fromkeys(cells["language"])), list(dict.fromkeys(cells["judge"]))].reset_index()
    show(console, grid, style=lambda row, name, value: STYLES.get(value, ""))
    say(
        console,
        f"{helped.helped} cells helped, {helped.hurt} hurt, {helped.unclear} cannot be told (?); all verdicts hold at "
        f"once with {helped.level:.0%} confidence.",
    )
    for row in _records(cells[cells["verdict"] == "hurt"].sort_values("gain").head(5)):
        say(
            console,
            f"{clean(row['judge'])} in {clean(row['language'])} was nearer to the humans than the panel: calibration "
            f"adds {number(-row['gain'], 1)} points squared {interval(-row['high'], -row['low'], 1)}.",
            "red",
        )
    still = cells[cells["open_because"] == "labels"]
    if len(still):
        few, most = int(still["more_labels"].min()), int(still["more_labels"].max())
        say(
            console,
            f"More labels would settle {len(still)} open cells: {few} to {most} more per language, if the estimates "
            "are right. The other open cells need more tasks, not labels.",
        )


def _nearest(console: Console, nearest: pd.DataFrame) -> None:
    heading(console, "The judge nearest to the humans (smallest squared error; in brackets its share of resamples)")
    rows = _records(nearest)

    def text(row: dict[Any, Any], word: str) -> str:
        if row[word] is None or pd.isna(row[word]):
            return "no labels"
        sure = row[f"{word}_sure"]
        return f"{row[word]} ({number(100 * sure, 0)}%)" if pd.notna(sure) else f"{row[word]} (one label)"

    show(
        console,
        pd.DataFrame(
            {
                "language": nearest["language"],
                "labels": nearest["labels"],
                "raw": [text(r, "raw") for r in rows],
                "calibrated": [text(r, "calibrated") for r in rows],
            }
        ),
    )


def _shift(console: Console, result: Anchor) -> None:
    assert result.shift is not None
    heading(console, "Shared shift: panel mean minus human (points); calibration leaves it in")
    rows = [{**r, "shift_low": r["low"], "shift_high": r["high"]} for r in _records(result.shift.table)]
    show(
        console,
        pd.DataFrame(
            {
                "language": [r["language"] for r in rows],
                "labels": [r["labels"] for r in rows],
                "shift": [_value(r, "shift", digits=2, sign=True) for r in rows],
                "less the mean shift": [_value(r, "centred", digits=2, sign=True) for r in rows],
            }
        ),
    )


def _means(console: Console, means: LanguageMeans) -> None:
    heading(console, f"Language means: {means.quantity}")
    rows = []
    for r in _records(means.table):
        spelled = {"both": r["estimate"], "both_low": r["low"], "both_high": r["high"]}
        spelled |= {f"{w}{e}": r[f"{w}{e or '_only'}"] for w in ("labels", "panel") for e in ("", "_low", "_high")}
        rows.append(
            {
                "language": r["language"],
                "labels": r["labels"],
                "labels + panel": _value(spelled, "both", digits=2),
                "labels only": _value(spelled, "labels", digits=2),
                "panel only": _value(spelled, "panel", digits=2),
            }
        )
    show(console, pd.DataFrame(rows))
    say(
        console,
        "The panel-only interval knows nothing of a shared shift. Labelled tasks must be a random part of all tasks.",
        "dim",
    )


def _worth(console: Console, result: Anchor) -> None:
    heading(console, "How many judges is the panel worth?")
    table = result.worth.table
    chosen = table[(table["without"] == "") | (table["language"] == "all")]
    rows = _records(chosen)
    show(
        console,
        pd.DataFrame(
            {
                "language": [r["language"] for r in rows],
                "without": [r["without"] for r in rows],
                "judges": [r["judges"] for r in rows],
                "alpha": [_value(r, "alpha", digits=2) for r in rows],
                "error correlation": [_value(r, "correlation", digits=2) for r in rows],
                "effective judges": [_value(r, "effective", digits=1) for r in rows],
            }
        ),
    )
