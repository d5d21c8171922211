"""Tables, figures and corrections of the DevAI part."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from polyjudge.panel.panel import Panel
from polyjudge.panel.say import say
from polyjudge.paper import figures, published
from polyjudge.paper.ablations import JUDGES_IDENTITY
from polyjudge.paper.corrections import corrections, seen
from polyjudge.paper.devai import Findings, Types, analyse, answer, calls, with_binomial
from polyjudge.paper.follow_up import follow_up
from polyjudge.paper.human_labels import CAVEAT, LabelCheck, check_labels
from polyjudge.paper.ledger import settle
from polyjudge.paper.printed import Table
from polyjudge.paper.reproduction import Reproduction, notes
from polyjudge.paper.top_judge import TARGET
from polyjudge.questions.compare.held_out import GAIN_SCOPE
from polyjudge.report.charts.vega import Picture


def reproduce_devai(
    panel: Panel,
    *,
    labels: pd.DataFrame | None = None,
    types: Types | None = None,
    replication: str | Path | None = None,
    seed: int | None = None,
    more: tuple[str, ...] = (),
) -> Reproduction:
    """The DevAI part of the paper.

    Parameters
    ----------
    panel : of `sources.devai_panel`
    labels : human verdicts, of `labels.read_labels`: does the panel see, and whom does calibration help?
    types : the requirements by type, the ablation of their groups, Dawid-Skene on them
    replication : the authors' repeat calls
    seed : own random draws from this seed; without it the published draws are used
    more : notes
    """
    found = analyse(panel, seed)
    check = None if labels is None else check_labels(panel, labels)
    return Reproduction(
        ledger=settle("devai", answer(found, types)),
        corrections=(*corrections(found, types or Types()), *seen(check)),
        tables=(
            *_tables(found),
            follow_up(panel, found.reversals, replication),
            *(() if check is None else (_labels_table(check),)),
        ),
        figures=_figures(found),
        inputs={"scores": panel.fingerprint},
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


def _tables(found: Findings) -> list[Table]:
    book = published.load("devai")
    makers = (_reversals, _calibration, _decisions, _unseen, _judges, _tasks, _cost)
    return [make(book, found) for make in makers]


def _reversals(book: dict[str, Any], found: Findings) -> Table:
    pairs, theirs = found.reversals.pairs, book["rank_reversal"]["rows"]
    languages = pairs["language_a"] + " / " + pairs["language_b"]
    frame = pd.DataFrame(
        {
            "pair": pairs["judge_i"] + " / " + pairs["judge_j"],
            "delta_published": [row[2] for row in theirs],
            "delta": pairs["delta"],
            "languages": languages.where(pairs["delta"] > 0, None),
            "p_published": [row[3] for row in theirs],
            "p_as_published": pairs["p_published"],
            "p_selected": pairs["p_selected"],
            "holds": pairs["reverses"].map({True: "yes", False: "no"}),
        }
    )
    return Table(
        "rank_reversal",
        "Rank reversals (strength in points squared, adjusted p)",
        frame,
        {c: 1 if c.startswith("delta") else "p" for c in frame.columns if c.startswith(("delta", "p_"))},
        "p as published ignores that the languages were picked from the data; p selected allows for it and decides.",
    )


def _calibration(book: dict[str, Any], found: Findings) -> Table:
    table = found.held_out.table.set_index("method")
    tau, gain = ["tau", "low", "high", "full_fit"], ["gain", "gain_low", "gain_high"]
    rows = []
    for name, old in book["held_out"]["methods"].items():
        new, code = found.bare.get(name, table.loc[name, tau]), table.loc[name, "identity"]
        rows.append((name, *old, *new, *table.loc[name, gain], str(say(f"identity.{code}")) if code else ""))
    both = [f"{x}_{w}" for w in ("published", "computed") for x in tau]
    return Table(
        "calibration",
        "Rank consistency and accuracy gain on left-out tasks",
        pd.DataFrame(rows, columns=["method", *both, *gain, "identity"]),
        dict.fromkeys(both, 3) | dict.fromkeys(gain, 2),
        f"Gain in points squared. {GAIN_SCOPE}",
    )


def _decisions(book: dict[str, Any], found: Findings) -> Table:
    table = with_binomial(found.decisions).set_index("method")
    accuracy, regret = (f"{x} {x}_low {x}_high".split() for x in ("accuracy", "regret"))
    rows = []
    for name in ("raw", "cbc"):
        old = book["decisions"][name]
        theirs = (old["accuracy"], *old["accuracy_interval"], old["regret"], *old["regret_interval"])
        rows += [(name, "published", *theirs), (name, "computed", *table.loc[name, [*accuracy, *regret]])]
    agreement = [c.replace("accuracy", "agreement") for c in accuracy]
    return Table(
        "decisions",
        "Choice of the top judge on left-out tasks",
        pd.DataFrame(rows, columns=["method", "source", *agreement, *regret]),
        dict.fromkeys(agreement, 4) | dict.fromkeys(regret, 2),
        str(TARGET),
    )


def _unseen(book: dict[str, Any], found: Findings) -> Table:
    old = pd.DataFrame(book["unseen_language"]).loc[found.unseen.index]
    beside = _beside(old, found.unseen, {"raw": "raw", "zero_shot": "zero_shot"})
    return Table(
        "unseen_language",
        "Agreement of a left-out language with the others",
        beside.reset_index(),
        dict.fromkeys(beside.columns, 3),
        "Mean imputation equals zero-shot by arithmetic.",
    )


def _judges(book: dict[str, Any], found: Findings) -> Table:
    counts = found.judges[["judges", "subsets"]].astype(int)
    beside = _beside(book["ablation_judges"], found.judges, {"tau": "tau", "sd": "sd"})
    frame = pd.concat([counts, beside], axis=1)
    return Table("ablation_judges", "Number of judges", frame, dict.fromkeys(beside.columns, 3), str(JUDGES_IDENTITY))


def _tasks(book: dict[str, Any], found: Findings) -> Table:
    new = found.tasks.table
    beside = _beside(book["ablation_tasks"], new, {"tau": "tau", "sd": "sd", "error": "mean_abs_beta_error"})
    bounds = {"bound_as_published": new["bound_all_scores"], "bound_noise": new["bound"]}
    frame = pd.concat([new["tasks"].astype(int), beside, pd.DataFrame(bounds)], axis=1)
    return Table(
        "ablation_tasks",
        "Number of tasks",
        frame,
        {c: 3 if c.startswith(("tau", "sd")) else 2 for c in frame.columns[1:]},
        "Error and bounds in points: the error is a mean over cells, the bounds hold for all cells at once with 95% "
        "confidence, with the sd of all scores (as published) and of the noise.",
    )


def _beside(old: Mapping[str, Any] | pd.DataFrame, new: pd.DataFrame, names: dict[str, str]) -> pd.DataFrame:
    """Columns as published and as computed; `names`: those of ours -> theirs."""
    out = pd.DataFrame(index=new.index)
    for mine, theirs in names.items():
        out[f"{mine}_published"], out[f"{mine}_computed"] = old[theirs], new[mine]
    return out


def _cost(book: dict[str, Any], found: Findings) -> Table:
    rows = [(name.replace("_", " "), *book["cost"][name], n) for name, n in calls(found).items()]
    millions = ["input_tokens_millions", "output_tokens_millions"]
    return Table(
        "cost",
        "Estimated cost as published",
        pd.DataFrame(rows, columns=["component", "calls", *millions, "usd", "calls_computed"]),
        dict.fromkeys([*millions, "usd"], 2),
        "Calls follow from the sizes; token counts and prices are not among the released scores.",
    )


def _figures(found: Findings) -> dict[str, Callable[[], Picture]]:
    panel, pairs = found.panel, found.reversals
    means, title = panel.matrix(panel.cell_means), "Ranks of the judges by language"
    old = published.load("devai")["ablation_tasks"]["mean_abs_beta_error"]
    return {
        "interaction_heatmap": lambda: figures.heatmap(found.uncertainty),
        "ranks_before_after": lambda: figures.before_after(means, panel.tie_gap, title, "score"),
        "reversal_strength": lambda: figures.reversal_strength(pairs.pairs, pairs.alpha),
        "convergence": lambda: figures.convergence(found.tasks.table.assign(published_error=old)),
    }
