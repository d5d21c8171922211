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
from polyjudge.paper.devai import FULL_FIT, SEVERITY, Findings, analyse, answer, gain_text, with_binomial
from polyjudge.paper.ledger import settle
from polyjudge.paper.result import Correction, Reproduction, notes
from polyjudge.paper.tables import Table


def reproduce_devai(panel: Panel, *, seed: int | None = None, inputs: dict[str, str] | None = None) -> Reproduction:
    """Every published number of the DevAI part.

    Parameters
    ----------
    panel : of `sources.devai_panel`
    seed : own random draws from this seed; without it the published draws are used
    """
    found = analyse(panel, seed)
    return Reproduction(
        settle("devai", answer(found)),
        _corrections(found),
        _tables(found),
        _figures(found),
        inputs or {"scores": panel.fingerprint},
        notes(seed),
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
        new = tuple(table.loc[name, ["tau", "low", "high", "full_fit"]])
        if name == "random control" and found.exact:
            new = found.random_control
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


def _corrections(found: Findings) -> tuple[Correction, ...]:
    u, rev = found.uncertainty, found.reversals
    pairs = len(rev.pairs)
    lost = rev.pairs[(rev.pairs["p_published"] <= rev.alpha) & ~rev.pairs["reverses"]]
    names = "; ".join(f"{a} / {b}" for a, b in zip(lost["judge_i"], lost["judge_j"], strict=True)) or "none"
    half = found.largest / 2
    decided = found.decisions.table.set_index("method")["accuracy"]
    return (
        Correction(
            "Pairs of judges that reverse significantly",
            f"{rev.count_published} of {pairs}",
            f"{rev.count_selected} of {pairs} (lost: {names}); more reversals than without interaction, p = "
            f"{rev.p_global:.2g}",
            "The two languages that show a reversal were picked from the same data; the corrected test allows for it.",
        ),
        Correction(
            "Uncertainty of the interaction",
            f"radius {found.radius(u.sigma_scores):.2f} points for every cell, {found.tasks_for(u.sigma_scores, half)} "
            "tasks needed",
            f"radius {found.radius(u.sigma_noise):.2f} with the noise's sigma ({u.sigma_noise:.2f} instead of "
            f"{u.sigma_scores:.2f}), {found.tasks_for(u.sigma_noise, half)} tasks if that is known; the "
            f"bootstrap band has {u.clear} of {len(u.cells)} cells clear of zero",
            "The bound needs the sd of the noise; the sd of all scores counts tasks, judges and languages as noise.",
        ),
        Correction(
            "After calibration all languages agree",
            "full-fit tau 1.000, oracle tau 1.000, weighted CBC = CBC, per-language norm = raw, mean imputation = "
            "zero-shot",
            "true by arithmetic for any scores",
            f"{FULL_FIT} The others follow from I6 and from the sums of the interaction being zero.",
        ),
        Correction(
            "CBC picks the right judge",
            f"{decided['cbc']:.1%} against {decided['raw']:.1%} raw",
            "agreement with the model's own target, not with a truth",
            str(TARGET),
        ),
        Correction(
            "Rank consistency rises from 0.650 to 0.902",
            "read as a better measurement",
            gain_text(found),
            f"Consistency is not accuracy. {GAIN_SCOPE}",
        ),
        Correction(
            "More judges keep the mean tau near 0.90",
            "a finding of the judge ablation",
            "true by arithmetic up to the random draws; only the spread depends on the number of judges",
            str(JUDGES_IDENTITY),
        ),
        Correction("Calibrated order of the judges", "best to worst", "a severity order", SEVERITY),
    )
