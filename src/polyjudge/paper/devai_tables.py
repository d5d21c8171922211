"""Tables, figures and corrections of the DevAI part."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pandas as pd

from polyjudge.analyse.ablations import JUDGES_IDENTITY
from polyjudge.analyse.decisions import TARGET
from polyjudge.analyse.held_out import GAIN_SCOPE
from polyjudge.core.panel import Panel
from polyjudge.core.sections import say
from polyjudge.paper import published
from polyjudge.paper.corrections import corrections, seen
from polyjudge.paper.devai import Findings, Types, analyse, answer, with_binomial
from polyjudge.paper.follow_up import follow_up
from polyjudge.paper.labels import CAVEAT, LabelCheck, check_labels
from polyjudge.paper.ledger import settle
from polyjudge.paper.result import Reproduction, notes
from polyjudge.paper.tables import Table


def reproduce_devai(
    panel: Panel,
    *,
    labels: pd.DataFrame | None = None,
    types: Types | None = None,
    seed: int | None = None,
    inputs: dict[str, str] | None = None,
    more: tuple[str, ...] = (),
) -> Reproduction:
    """The DevAI part of the paper.

    Parameters
    ----------
    panel : of `sources.devai_panel`
    labels : human verdicts, of `labels.read_labels`: does the panel see, and whom does calibration help?
    types : the requirements by type, and the ablation of their groups
    seed : own random draws from this seed; without it the published draws are used
    more : notes
    """
    found = analyse(panel, seed)
    check = None if labels is None else check_labels(panel, labels)
    return Reproduction(
        ledger=settle("devai", answer(found, types)),
        corrections=(*corrections(found), *seen(found, check)),
        tables=(*_tables(found), follow_up(panel), *(() if check is None else (_labels_table(check),))),
        figures=_figures(found),
        inputs=inputs or {"scores": panel.fingerprint},
        notes=(*notes(seed), *more, *(() if check is None else (CAVEAT,))),
        labels=check,
    )


def _labels_table(check: LabelCheck) -> Table:
    return Table(
        "human_labels",
        "Each judge and language beside the humans",
        check.cells,
        {c: 2 if c in ("r", "low", "high") else 1 for c in check.cells.columns[2:-1]},
        f"r: correlation with the human task scores over {check.answers} pieces of work, tasks resampled. gain: fall "
        f"of "
        "the squared error of the judge's language effect by calibration (points squared), with a band over all cells.",
    )


def _tables(found: Findings) -> tuple[Table, ...]:
    book = published.load("devai")
    return (
        _reversal_table(book, found),
        _calibration_table(book, found),
        _decision_table(book, found),
        _unseen_table(book, found),
        _judges_table(book, found),
        _tasks_table(book, found),
        _cost_table(book, found),
    )


def _reversal_table(book: dict[str, Any], found: Findings) -> Table:
    pairs = found.reversals.pairs
    frame = pd.DataFrame(
        {
            "pair": pairs["judge_i"] + " / " + pairs["judge_j"],
            "delta_published": [row[2] for row in book["rank_reversal"]["rows"]],
            "delta": pairs["delta"],
            "languages": [
                f"{row['language_a']} / {row['language_b']}" if row["delta"] > 0 else None
                for row in pairs.to_dict("records")
            ],
            "p_published": [row[3] for row in book["rank_reversal"]["rows"]],
            "p_as_published": pairs["p_published"],
            "p_selected": pairs["p_selected"],
            "holds": ["yes" if r else "no" for r in pairs["reverses"]],
        }
    )
    return Table(
        "rank_reversal",
        "Rank reversals (strength in points squared, adjusted p)",
        frame,
        {
            "delta_published": 1,
            "delta": 1,
            "p_published": "p",
            "p_as_published": "p",
            "p_selected": "p",
        },
        "p as published ignores that the languages were picked from the data; p selected allows for it and decides.",
    )


def _calibration_table(book: dict[str, Any], found: Findings) -> Table:
    table = found.held_out.table.set_index("method")
    rows = []
    for name, old in book["held_out"]["methods"].items():
        new = found.bare.get(name) or tuple(table.loc[name, ["tau", "low", "high", "full_fit"]])
        gain = table.loc[name, ["gain", "gain_low", "gain_high"]]
        code = table.loc[name, "identity"]
        rows.append((name, *old, *new, *gain, str(say(f"identity.{code}")) if code else ""))
    columns = [
        "method",
        *(f"{x}_{w}" for w in ("published", "computed") for x in ("tau", "low", "high", "full_fit")),
        "gain",
        "gain_low",
        "gain_high",
        "identity",
    ]
    digits: dict[str, int | str] = {c: 2 if c.startswith("gain") else 3 for c in columns[1:-1]}
    return Table(
        "calibration",
        "Rank consistency and accuracy gain on left-out tasks",
        pd.DataFrame(rows, columns=columns),
        digits,
        f"Gain in points squared. {GAIN_SCOPE}",
    )


def _decision_table(book: dict[str, Any], found: Findings) -> Table:
    table = with_binomial(found.decisions).set_index("method")
    rows = []
    for name in ("raw", "cbc"):
        old, new = book["decisions"][name], table.loc[name]
        rows.append(
            (name, "published", old["accuracy"], *old["accuracy_interval"], old["regret"], *old["regret_interval"])
        )
        rows.append(
            (
                name,
                "computed",
                *new[["accuracy", "accuracy_low", "accuracy_high", "regret", "regret_low", "regret_high"]],
            )
        )
    columns = [
        "method",
        "source",
        "agreement",
        "agreement_low",
        "agreement_high",
        "regret",
        "regret_low",
        "regret_high",
    ]
    digits = {c: 2 if c.startswith("regret") else 4 for c in columns[2:]}
    return Table(
        "decisions",
        "Choice of the top judge on left-out tasks",
        pd.DataFrame(rows, columns=columns),
        digits,
        str(TARGET),
    )


def _unseen_table(book: dict[str, Any], found: Findings) -> Table:
    spec = book["unseen_language"]
    table = found.unseen
    frame = pd.DataFrame({"language": table["language"]})
    for name in ("raw", "zero_shot"):
        frame[f"{name}_published"] = [spec[name][x] for x in table["language"]]
        frame[f"{name}_computed"] = table[name].to_numpy()
    return Table(
        "unseen_language",
        "Agreement of a left-out language with the others",
        frame,
        dict.fromkeys(frame.columns[1:], 3),
        "Mean imputation equals zero-shot by arithmetic.",
    )


def _judges_table(book: dict[str, Any], found: Findings) -> Table:
    old, new = book["ablation_judges"], found.judges
    frame = pd.DataFrame(
        {
            "judges": new["judges"].astype(int),
            "subsets": new["subsets"].astype(int),
            "tau_published": old["tau"],
            "tau_computed": new["tau"],
            "sd_published": old["sd"],
            "sd_computed": new["sd"],
        }
    )
    return Table(
        "ablation_judges", "Number of judges", frame, dict.fromkeys(frame.columns[2:], 3), str(JUDGES_IDENTITY)
    )


def _tasks_table(book: dict[str, Any], found: Findings) -> Table:
    old, new = book["ablation_tasks"], found.tasks.table
    frame = pd.DataFrame(
        {
            "tasks": new["tasks"].astype(int),
            "tau_published": old["tau"],
            "tau_computed": new["tau"],
            "sd_published": old["sd"],
            "sd_computed": new["sd"],
            "error_published": old["mean_abs_beta_error"],
            "error_computed": new["error"],
            "bound_as_published": new["bound_all_scores"],
            "bound_noise": new["bound"],
        }
    )
    digits: dict[str, int | str] = {c: 3 if "_" in c and c[:3] in ("tau", "sd_") else 2 for c in frame.columns[1:]}
    return Table(
        "ablation_tasks",
        "Number of tasks",
        frame,
        digits,
        "Error and bounds in points: the error is a mean over cells, the bounds hold for all cells at once with 95% "
        "confidence, with the sd of all scores (as published) and of the noise.",
    )


def _cost_table(book: dict[str, Any], found: Findings) -> Table:
    answers = answer(found)
    rows = []
    for name in ("three_language_extension", "mrewardbench_panel"):
        rows.append((name.replace("_", " "), *book["cost"][name], answers["cost", name, "0"].value))
    columns = ["component", "calls", "input_tokens_millions", "output_tokens_millions", "usd", "calls_computed"]
    return Table(
        "cost",
        "Estimated cost as published",
        pd.DataFrame(rows, columns=columns),
        {"input_tokens_millions": 2, "output_tokens_millions": 2, "usd": 2},
        "Calls follow from the sizes; token counts and prices are not among the released scores.",
    )


def _figures(found: Findings) -> dict[str, Callable[[], Any]]:
    def draw(name: str) -> Any:
        from polyjudge.paper import figures

        panel, reversals = found.panel, found.reversals
        if name == "interaction_heatmap":
            return figures.heatmap(found.uncertainty)
        if name == "ranks_before_after":
            means = panel.matrix(panel.cell_means)
            return figures.before_after(means, panel.tie_gap, "Ranks of the judges by language", "score")
        if name == "reversal_strength":
            return figures.reversal_strength(reversals.pairs, reversals.alpha)
        old = published.load("devai")["ablation_tasks"]["mean_abs_beta_error"]
        return figures.convergence(found.tasks.table.assign(published_error=old))

    names = ("interaction_heatmap", "ranks_before_after", "reversal_strength", "convergence")
    return {name: partial(draw, name) for name in names}
