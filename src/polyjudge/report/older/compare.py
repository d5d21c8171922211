"""`polyjudge compare` on the terminal."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pandas as pd
from rich.console import Console

from polyjudge.analyse.ablations import Ablation
from polyjudge.analyse.decisions import Decisions
from polyjudge.analyse.held_out import Comparison
from polyjudge.analyse.unseen import Unseen
from polyjudge.core.results import Result
from polyjudge.report.older.base import heading, interval, make_console, number, say, show


def show_result(result: Result, console: Console | None = None) -> None:
    """Print the result of any protocol."""
    console = console or make_console()
    if isinstance(result, Comparison):
        _comparison(console, result)
    elif isinstance(result, Unseen):
        _unseen(console, result)
    elif isinstance(result, Decisions):
        _decisions(console, result)
    elif isinstance(result, Ablation):
        _ablation(console, result)
    else:
        raise TypeError(f"compare has no result of type {type(result).__name__}")


def _comparison(console: Console, result: Comparison) -> None:
    table = result.table
    used = result.resamples - result.skipped
    heading(console, f"Agreement of the languages on the judges' order, on left-out tasks ({used:,} resamplings)")
    marks = _marks(table["identity"])
    show(
        console,
        pd.DataFrame(
            {
                "method": table["method"],
                "tau": [number(x, 3) for x in table["tau"]],
                "95% interval": [interval(r["low"], r["high"], 3) for r in _rows(table)],
                "full fit": [number(x, 3) for x in table["full_fit"]],
                "by arithmetic": [marks.get(x, "") for x in table["identity"]],
            }
        ),
    )
    for text, mark in marks.items():
        say(console, f"{mark} {text}", "dim")
    say(
        console,
        "tau is consistency, not accuracy. The full fit is measured on the tasks it was fitted on: no interval.",
        "dim",
    )
    gains = table[table["gain"].notna() & (table["method"] != "raw")]  # raw is what the gain is measured against
    if len(gains):
        heading(console, "Held-out accuracy gain, without labels (points squared)")
        show(
            console,
            pd.DataFrame(
                {
                    "method": gains["method"],
                    "gain": [number(x, 3, True) for x in gains["gain"]],
                    "95% interval": [interval(r["gain_low"], r["gain_high"], 3, True) for r in _rows(gains)],
                    "above 0": [f"{number(100 * x, 1)}%" for x in gains["gain_positive"]],
                    "in sample": [number(x, 3) for x in gains["gain_full_fit"]],
                    "by arithmetic": [marks[x] if "gain" in x else "" for x in gains["identity"]],
                }
            ),
        )
        say(console, result.scope)
        say(console, "In sample the gain cannot be negative; that is arithmetic.", "dim")
    if result.advice is not None:
        say(console, result.advice.text, "bold green" if result.advice.calibrate else "bold yellow")
    _differences(console, result)
    _notes(console, result.notes)


def _differences(console: Console, result: Comparison) -> None:
    """CBC against each other method, or the first method against the rest."""
    methods = result.table["method"].tolist()
    if len(methods) < 2:
        return
    main = "cbc" if "cbc" in methods else methods[0]
    d = result.differences
    d = d[(d["method_a"] == main) | (d["method_b"] == main)]
    rows = []
    for r in _rows(d):
        sign = 1 if r["method_a"] == main else -1
        low, high = sorted((sign * r["low"], sign * r["high"]))
        rows.append(
            {
                f"{main} less": r["method_b"] if sign > 0 else r["method_a"],
                "difference": number(sign * r["difference"], 3, True),
                "95% interval": interval(low, high, 3, True),
                "in favour": f"{number(100 * (r['favour_a'] if sign > 0 else r['favour_b']), 1)}%",
            }
        )
    heading(console, "Paired differences of tau over the same resamplings")
    show(console, pd.DataFrame(rows))


def _unseen(console: Console, result: Unseen) -> None:
    what = result.what
    heading(console, f"A new {what}: agreement with the others on left-out tasks, with no task of it scored")
    rows = [
        {
            what: r[what],
            "raw": f"{number(r['raw'], 3)} {interval(r['raw_low'], r['raw_high'], 3)}",
            "zero-shot": f"{number(r['zero_shot'], 3)} {interval(r['zero_shot_low'], r['zero_shot_high'], 3)}",
        }
        for r in [*_rows(result.table), {what: "overall", **result.overall}]
    ]
    show(console, pd.DataFrame(rows))
    say(console, result.identity, "dim")
    if len(result.curve) > 1:
        heading(console, "With some of its tasks scored")
        curve = pd.DataFrame(
            {
                "tasks": result.curve["shots"],
                "tau": [number(x, 3) for x in result.curve["tau"]],
                "95% interval": [interval(r["low"], r["high"], 3) for r in _rows(result.curve)],
                "share of the gain": [_percent(x) for x in result.curve["share"]],
            }
        )
        if "consistency" in result.curve:
            curve["consistency"] = [
                f"{number(r['consistency'], 3)} {interval(r['consistency_low'], r['consistency_high'], 3)}"
                for r in _rows(result.curve)
            ]
        show(console, curve)
        if result.enough is not None:
            say(
                console, f"{result.enough} tasks reach 95% of what all drawn tasks give (tau {number(result.full, 3)})."
            )
    if what == "judge":
        say(
            console,
            "tau compares how two judges order the languages; consistency is the agreement of the languages on the "
            "order of all judges, the new one among them.",
            "dim",
        )
    _notes(console, result.notes)


def _decisions(console: Console, result: Decisions) -> None:
    heading(console, f"Picking the top judge of each language ({result.decisions:,} decisions)")
    rows = [
        {
            "chosen by": r["method"],
            "on target": f"{_percent(r['accuracy'])} {interval(100 * r['accuracy_low'], 100 * r['accuracy_high'])}",
            "regret (points)": f"{number(r['regret'])} {interval(r['regret_low'], r['regret_high'])}",
        }
        for r in _rows(result.table)
    ]
    show(console, pd.DataFrame(rows))
    say(console, result.target)
    say(
        console,
        "The interval of the share is the exact binomial one over all decisions; they share tasks, so it is too "
        "narrow. The JSON also has percentiles over resamplings.",
        "dim",
    )
    heading(console, "By language")
    show(
        console,
        result.languages.assign(
            accuracy=[_percent(x) for x in result.languages["accuracy"]],
            chosen_share=[_percent(x) for x in result.languages["chosen_share"]],
        ),
    )


def _ablation(console: Console, result: Ablation) -> None:
    title = {"judges": "Fewer judges", "tasks": "Fewer tasks", "groups": "Each group on its own"}[result.by]
    heading(console, f"{title}: agreement on left-out tasks and accuracy gain")
    table = result.table
    out: dict[str, Any] = {c: table[c] for c in ("judges", "subsets", "group", "tasks") if c in table}
    rows = _rows(table)
    out["raw tau"] = [f"{number(r['raw'], 3)} {interval(r['raw_low'], r['raw_high'])}" for r in rows]
    out["cbc tau"] = [f"{number(r['tau'], 3)} {interval(r['low'], r['high'])}" for r in rows]
    out["sd"] = [number(x, 3) for x in table["sd"]]
    out["gain"] = [f"{number(r['gain'], 1, True)} {interval(r['gain_low'], r['gain_high'], 1, True)}" for r in rows]
    show(console, pd.DataFrame(out))
    if "error" in table:
        heading(console, "Mean error of the interaction, beside the bound of all its cells (points)")
        error = [f"{number(r['error'])} {interval(r['error_low'], r['error_high'])}" for r in rows]
        show(
            console,
            pd.DataFrame({"tasks": table["tasks"], "error": error, "bound": [number(x) for x in table["bound"]]}),
        )
    if result.identity:
        say(console, result.identity)
    say(console, result.scope)
    _notes(console, result.notes)


def _marks(identities: Iterable[str]) -> dict[str, str]:
    """Each identity's mark: [a], [b], ..."""
    return {text: f"[{chr(97 + i)}]" for i, text in enumerate(dict.fromkeys(x for x in identities if x))}


def _rows(frame: pd.DataFrame) -> list[dict[Any, Any]]:
    return frame.to_dict("records")


def _percent(share: float) -> str:
    text = number(100 * share, 1)
    return text if text == "–" else f"{text}%"


def _notes(console: Console, notes: Iterable[str]) -> None:
    for note in notes:
        say(console, f"Note: {note}", "yellow")
