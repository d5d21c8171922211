"""Tables, figures and corrections of the DevAI part."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd

from polyjudge.panel.numbers import p_words
from polyjudge.panel.panel import Panel
from polyjudge.panel.say import say
from polyjudge.paper import devai, figures, published
from polyjudge.paper.ablations import JUDGES_IDENTITY
from polyjudge.paper.devai import Findings, Types, analyse, answer, calls, gain_text, with_binomial
from polyjudge.paper.follow_up import follow_up
from polyjudge.paper.human_labels import CAVEAT, LabelCheck, check_labels
from polyjudge.paper.ledger import Correction, Reproduction, correction, notes, settle
from polyjudge.paper.printed import Table, table
from polyjudge.paper.top_judge import TARGET
from polyjudge.questions.compare.held_out import GAIN_SCOPE


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

    panel : of `sources.devai_panel`
    labels : human verdicts, of `labels.read_labels`: does the panel see, and whom does calibration help?
    types : the requirements by type, the ablation of their groups, Dawid-Skene on them
    replication : the authors' repeat calls
    seed : own random draws from this seed; without it the published draws are used
    more : notes
    """
    found = analyse(panel, seed)
    check = None if labels is None else check_labels(panel, labels)
    errors = published.load("devai")["ablation_tasks"]["mean_abs_beta_error"]
    return Reproduction(
        ledger=settle("devai", answer(found, types)),
        corrections=(*_corrections(found, types or Types()), *_seen(check)),
        tables=tuple(_tables(found, panel, replication, check)),
        figures={
            "interaction_heatmap": lambda: figures.heatmap(found.uncertainty),
            "ranks_before_after": lambda: figures.ranks_of(panel),
            "reversal_strength": lambda: figures.reversal_strength(found.reversals.pairs, found.reversals.alpha),
            "convergence": lambda: figures.convergence(found.tasks.table.assign(published_error=errors)),
        },
        inputs={"scores": panel.fingerprint},
        notes=(*notes(seed), *more, *(() if check is None else (CAVEAT,))),
        labels=check,
    )


def _tables(found: Findings, panel: Panel, replication: str | Path | None, check: LabelCheck | None) -> Iterator[Table]:
    book = published.load("devai")
    made = partial(table, "devai")
    yield made("rank_reversal", _reversals(book, found))
    yield made("calibration", _calibration(book, found), scope=GAIN_SCOPE)
    yield made("decisions", _decisions(book, found), target=TARGET)
    old = pd.DataFrame(book["unseen_language"]).loc[found.unseen.index]
    yield made("unseen_language", _beside(old, found.unseen, {"raw": "raw", "zero_shot": "zero_shot"}).reset_index())
    beside = _beside(book["ablation_judges"], found.judges, {"tau": "tau", "sd": "sd"})
    judges = pd.concat([found.judges[["judges", "subsets"]].astype(int), beside], axis=1)
    yield made("ablation_judges", judges, identity=JUDGES_IDENTITY)
    yield made("ablation_tasks", _tasks(book, found))
    rows = [(name.replace("_", " "), *book["cost"][name], n) for name, n in calls(found).items()]
    columns = ["component", "calls", "input_tokens_millions", "output_tokens_millions", "usd", "calls_computed"]
    yield made("cost", pd.DataFrame(rows, columns=columns))
    yield made("follow_up", follow_up(panel, found.reversals, replication))
    if check is not None:
        yield made("human_labels", check.cells, answers=check.answers)


def _reversals(book: dict[str, Any], found: Findings) -> pd.DataFrame:
    pairs, theirs = found.reversals.pairs, book["rank_reversal"]["rows"]
    languages = pairs["language_a"] + " / " + pairs["language_b"]
    return pd.DataFrame(
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


def _calibration(book: dict[str, Any], found: Findings) -> pd.DataFrame:
    table = found.held_out.table.set_index("method")
    tau, gain = ["tau", "low", "high", "full_fit"], ["gain", "gain_low", "gain_high"]
    rows = []
    for name, old in book["held_out"]["methods"].items():
        new, code = found.bare.get(name, table.loc[name, tau]), table.loc[name, "identity"]
        rows.append((name, *old, *new, *table.loc[name, gain], str(say(f"identity.{code}")) if code else ""))
    both = [f"{x}_{w}" for w in ("published", "computed") for x in tau]
    return pd.DataFrame(rows, columns=["method", *both, *gain, "identity"])


def _decisions(book: dict[str, Any], found: Findings) -> pd.DataFrame:
    table = with_binomial(found.decisions).set_index("method")
    accuracy, regret = (f"{x} {x}_low {x}_high".split() for x in ("accuracy", "regret"))
    rows = []
    for name in ("raw", "cbc"):
        old = book["decisions"][name]
        theirs = (old["accuracy"], *old["accuracy_interval"], old["regret"], *old["regret_interval"])
        rows += [(name, "published", *theirs), (name, "computed", *table.loc[name, [*accuracy, *regret]])]
    agreement = [c.replace("accuracy", "agreement") for c in accuracy]
    return pd.DataFrame(rows, columns=["method", "source", *agreement, *regret])


def _tasks(book: dict[str, Any], found: Findings) -> pd.DataFrame:
    new = found.tasks.table
    beside = _beside(book["ablation_tasks"], new, {"tau": "tau", "sd": "sd", "error": "mean_abs_beta_error"})
    bounds = {"bound_as_published": new["bound_all_scores"], "bound_noise": new["bound"]}
    return pd.concat([new["tasks"].astype(int), beside, pd.DataFrame(bounds)], axis=1)


def _beside(old: Mapping[str, Any] | pd.DataFrame, new: pd.DataFrame, names: dict[str, str]) -> pd.DataFrame:
    """Columns as published and as computed; `names`: those of ours -> theirs."""
    out = pd.DataFrame(index=new.index)
    for mine, theirs in names.items():
        out[f"{mine}_published"], out[f"{mine}_computed"] = old[theirs], new[mine]
    return out


# --- corrections: what in the paper does not hold or is arithmetic, and what can be said instead. Their texts are in
# data/corrections.json, with what the paper concedes and what its authors say later, in their words.


def _corrections(found: Findings, types: Types) -> tuple[Correction, ...]:
    """Of the DevAI part, without labels."""
    u, rev = found.uncertainty, found.reversals
    lost = rev.pairs[(rev.pairs["p_published"] <= rev.alpha) & ~rev.pairs["reverses"]]
    turned = rev.pairs[rev.pairs["delta"] > 0]
    gemini = (turned["judge_i"] == "Gemini") | (turned["judge_j"] == "Gemini")
    sizes = {"pairs": len(rev.pairs), "p": p_words(rev.p_global, rev.p_floor)}
    tasks = found.tasks_for(u.sigma_noise, found.largest / 2)
    given = types.dawid_skene
    asked = "" if given is None else f"; on single requirements, as the text has it, Dawid-Skene has tau {given:.3f}"
    return (
        correction("reversals", rev=rev, lost=_pairs(lost) or "none", **sizes),
        correction("uncertainty", u=u, radius=found.radius(u.sigma_noise), tasks=tasks, cells=len(u.cells)),
        correction("upper-end", high=float(found.many.table.set_index("method")["high"]["cbc"]), many=devai.MANY),
        correction("dawid-skene", asked=asked),
        correction("agree", full_fit=devai.FULL_FIT),
        correction("right-judge", target=str(TARGET)),
        correction("consistency", gain=gain_text(found), scope=GAIN_SCOPE),
        correction("more-judges", identity=str(JUDGES_IDENTITY)),
        correction("order", severity=devai.SEVERITY),
        correction("which-pairs", seven=_pairs(turned), gemini=int(gemini.sum())),
        correction("zeros"),
    )


def _pairs(table: pd.DataFrame) -> str:
    return "; ".join(f"{a} / {b}" for a, b in zip(table["judge_i"], table["judge_j"], strict=True))


def _seen(check: LabelCheck | None) -> tuple[Correction, ...]:
    """What the panel knows about the work, with labels."""
    if check is None:
        return ()
    return correction("measured", s=check.signal, r=check.panel, check=check), correction("helped", check=check)
