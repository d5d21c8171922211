"""`paper reproduce`: every number of the paper beside what is computed here from the authors' data.

claims.csv has a row for each: where it stands (`place`), what it is (`name`), as it is `printed`, its `key` in what
`devai.values` and `mrewardbench.values` return, the sd of its value over independent draws (`scatter`), a `note`, and
its `kind`: "reproduced" (computed, and can come out otherwise), "identity" (arithmetic, no evidence), "artefact"
(reproduced, but not what it is taken for), "reported" (not computable from the data), "setting", "label" (taken over).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd

from polyjudge.base.errors import UsageError
from polyjudge.base.numbers import NONE, number
from polyjudge.base.text import count, name, names
from polyjudge.report.model import Finding, Report, Result, Section, Table

REACH = 4 * math.sqrt(2)
"""With other draws a value may lie half a unit of its last printed digit, and so many sds, from the printed one."""
ROUNDING = 1e-13
"""Relative difference of sums that are added up in another order."""
OPTIMUM = 1e-9
"""Relative difference of maximum likelihood found by another optimiser."""
FIRST = (
    "rank_reversal > reversing_pairs", "bound > radius", "held_out > methods > raw > 0", "held_out > methods > cbc > 0",
    "decisions > raw > accuracy", "decisions > cbc > accuracy", "unseen_language > raw > overall",
    "unseen_language > zero_shot > overall", "human_anchor > overall > raw_agreement",
    "human_anchor > overall > cbc_agreement", "human_anchor > overall > gain",
)  # fmt: skip
"""The claims that the first screen shows."""
TITLES = {"devai": "the DevAI panel", "mrewardbench": "the M-RewardBench panel"}


@dataclass(frozen=True, repr=False)
class Reproduction(Result):
    """claims : place, name, printed, computed, verdict ("reproduced", "differs", "needs data", "taken over"), kind,
        note, key
    anchor : M-RewardBench: decisions of the human anchor by language, as published and with a tie tolerance
    """

    which: str
    claims: pd.DataFrame
    anchor: pd.DataFrame | None
    seed: int
    findings: tuple[Finding, ...]

    @property
    def incomplete(self) -> bool:
        """Whether a number differs: the command ends with 1."""
        return bool((self.claims["verdict"] == "differs").any())

    def report(self) -> Report:
        """Every claim, those that differ and the paper's main ones first; for M-RewardBench the human anchor."""
        rows = self.claims
        rank = [FIRST.index(key) if key in FIRST else len(FIRST) for key in rows["key"]]
        order = sorted(range(len(rows)), key=lambda i: (rows["verdict"].iloc[i] != "differs", rank[i]))
        where = [str(x).split(",")[0].removesuffix(" results").removesuffix(" code") for x in rows["place"]]
        texts = {
            title: [name(shown(value), 12) for value in rows[column]]
            for title, column in (("published", "printed"), ("here", "computed"))
        }
        rows = rows.assign(where=where, what=[name(x, 40) for x in rows["name"]], **texts).iloc[order]
        columns = dict.fromkeys(("where", "what", "published", "here", "verdict"), "name")
        board = Table("claims", "Published and computed", rows.reset_index(drop=True), columns, most=1000)
        other = rows[rows["kind"] == "artefact"]
        notes = tuple(f"{a}, {b}: {c}" for a, b, c in zip(other["place"], other["name"], other["note"], strict=True))
        sections = [Section("notes", "Reproduced, but artefacts", notes)]
        if self.anchor is not None:
            kinds = {x: "name" if x == "language" else "count" for x in self.anchor.columns}
            text = (
                "The mean over judges of calibrated scores is that of the scores (docs/methods.md, I1), so on items "
                "that all judges scored no decision of the panel's mean can change.",
            )
            table = Table("anchor", "Decisions that agree with people", self.anchor, kinds)
            sections.append(Section("anchor", "The human anchor", text, (table,)))
        draws = "the authors' own draws" if self.seed == 0 else f"draws of seed {self.seed}"
        facts = (f"The paper's numbers on {TITLES[self.which]}, computed with {draws}.",)
        title, about = "The paper, computed again", {"seed": self.seed}
        return Report("paper reproduce", title, facts, self.findings, board, sections=tuple(sections), about=about)


def reproduce(
    which: Literal["devai", "mrewardbench"],
    *,
    data: Path | None = None,
    instances: Path | None = None,
    judgments: Path | None = None,
    labels: Path | None = None,
    anchor: Path | None = None,
    seed: int = 0,
) -> Reproduction:
    """Compute the paper's numbers again and print each beside the published one.

    A number prints as published when it lies within half a unit of the last printed digit. The command ends with 1 if
    one does not. Without --data the address of the authors' file is printed.

    which : devai or mrewardbench
    data : the authors' run_level_scores.csv (devai) or pilot_complete_panel.csv (mrewardbench; without it what their
        published matrices allow)
    instances : the DevAI benchmark's instances.jsonl, for the numbers of its requirements
    judgments : the authors' verdicts on requirements (a folder, or CSV), for the ablation by type; needs --instances
    labels : people's verdicts on the DevAI requirements (CSV), to set the panel beside them
    anchor : the authors' human_anchor_sample.csv (mrewardbench)
    seed : 0 uses the authors' own draws; other draws may differ by what draws scatter

    Examples:
        polyjudge paper reproduce devai --data run_level_scores.csv
        polyjudge paper reproduce mrewardbench --anchor human_anchor_sample.csv
    """
    from polyjudge.paper import devai, mrewardbench

    if which not in TITLES:
        raise UsageError(f"The paper has the panels devai and mrewardbench, not {str(which)[:40]!r}.")
    if seed < 0:
        raise UsageError(f"A seed is 0 or more, not {seed}.")
    table = claims(which)
    found: list[Finding] = []
    decisions = None
    if which == "devai":
        if data is None:
            raise UsageError(devai.how_to_fetch())
        if anchor is not None:
            raise UsageError("The human anchor belongs to M-RewardBench: polyjudge paper reproduce mrewardbench.")
        if judgments is not None and instances is None:
            raise UsageError("--judgments needs the types of the requirements: add --instances FILE.")
        found += [_other_file(data)] if devai.is_another_file(data) else []
        runs = devai.read_runs(data)
        computed = devai.values(runs, instances, judgments, seed)
        found += [] if labels is None else [_people(devai.people(runs, labels, seed))]
    else:
        if instances is not None or judgments is not None or labels is not None:
            raise UsageError("--instances, --judgments and --labels belong to DevAI: polyjudge paper reproduce devai.")
        margins = None if data is None else mrewardbench.read_margins(data)
        sample = None if anchor is None else mrewardbench.read_sample(anchor)
        computed = mrewardbench.values(margins, sample, nested(table), seed)
        if sample is None and margins is not None:
            sample = mrewardbench.draw_sample(margins)
        decisions = None if sample is None else mrewardbench.anchor(sample)
        found += [] if decisions is None else [_retracted(decisions)]
    judged = settle(table, flat(computed), seed)
    return Reproduction(which, judged, decisions, seed, (*_verdicts(judged), *found))


def claims(which: str) -> pd.DataFrame:
    """The rows of claims.csv of one panel; keys without its name."""
    from importlib.resources import files

    with (files("polyjudge.paper") / "claims.csv").open(encoding="utf-8") as file:
        table = pd.read_csv(file, dtype=str, keep_default_na=False)
    start = f"{which} > "
    table = table[table["key"].str.startswith(start)].reset_index(drop=True)
    return table.assign(key=table["key"].str.removeprefix(start))


def flat(values: Any, start: str = "") -> dict[str, Any]:
    """Nested dicts and lists by keys such as "held_out > methods > cbc > 0"."""
    if not isinstance(values, (dict, list, tuple)):
        return {start: values}
    pairs = values.items() if isinstance(values, dict) else enumerate(values)
    out: dict[str, Any] = {}
    for key, value in pairs:
        out |= flat(value, f"{start} > {key}" if start else str(key))
    return out


def nested(table: pd.DataFrame) -> dict[str, Any]:
    """The printed values of claims as nested dicts."""
    out: dict[str, Any] = {}
    for key, printed in zip(table["key"], table["printed"], strict=True):
        *path, last = key.split(" > ")
        place = out
        for part in path:
            place = place.setdefault(part, {})
        place[last] = printed
    return out


def settle(table: pd.DataFrame, computed: dict[str, Any], seed: int = 0) -> pd.DataFrame:
    """The claims with what is computed, and the verdict of each."""
    values = [computed.get(key) for key in table["key"]]
    verdicts = []
    for row, value in zip(table.itertuples(), values, strict=True):
        if row.kind == "setting":
            verdicts.append("taken over")
        elif value is None:
            verdicts.append("needs data")
        else:
            scatter = float(str(row.scatter) or 0) if seed else 0.0
            near = OPTIMUM if str(row.key).startswith("judge_aware_btl") else ROUNDING
            verdicts.append("reproduced" if prints(str(row.printed), value, scatter, near) else "differs")
    columns = ["place", "name", "printed", "computed", "verdict", "kind", "note", "key"]
    return table.assign(computed=np.array(values, dtype=object), verdict=verdicts)[columns]


def prints(printed: str, value: Any, scatter: float = 0.0, near: float = ROUNDING) -> bool:
    """Whether a value prints as published: within half a unit of the last digit, and what draws scatter.

    >>> prints("0.902", 0.9023), prints("0.902", 0.9026), prints("9.7e-8", 9.68e-8), prints("Gemini", "Qwen")
    (True, False, True, False)
    """
    if isinstance(value, str):
        return value == printed
    try:
        wanted = Decimal(printed)
    except ArithmeticError:
        return False
    half = 0.5 * 10.0 ** int(wanted.as_tuple().exponent)
    slack = half * (1 + OPTIMUM) + REACH * scatter + near * abs(float(wanted))
    return math.isfinite(value) and abs(float(value) - float(wanted)) <= slack


def shown(value: Any) -> str:
    """A computed value with more digits than any printed one."""
    return NONE if value is None else f"{value:.6g}" if isinstance(value, (float, np.floating)) else str(value)


def _verdicts(judged: pd.DataFrame) -> list[Finding]:
    told = judged[judged["kind"].isin(["reproduced", "artefact"]) & judged["verdict"].isin(["reproduced", "differs"])]
    good = told[told["verdict"] == "reproduced"]
    artefacts = int((good["kind"] == "artefact").sum())
    some = "All" if len(good) == len(told) else f"{len(good):,} of"
    text = f"{some} {len(told):,} published numbers that depend on the data are reproduced"
    are = "is an artefact" if artefacts == 1 else "are artefacts"
    text += f"; {artefacts} of them {are} (--full says why)." if artefacts else "."
    lacking = int((judged["verdict"] == "needs data").sum())
    text += f" {count(lacking, 'number')} cannot be computed from these files." if lacking else ""
    out = [Finding("info", "claims", text, "Claims")]
    differs = judged[judged["verdict"] == "differs"]
    if len(differs):
        which = names([f"{x} ({place})" for x, place in zip(differs["name"], differs["place"], strict=True)], 5)
        differ = f"{len(differs):,} {'differs' if len(differs) == 1 else 'differ'} from the published number: {which}."
        out.insert(0, Finding("serious", "differs", differ, "Differs"))
    return out


def _people(p: Any) -> Finding:
    text = (
        f"Over {p.works} pieces of work the panel's mean has a correlation of {_r(p.r, p.low, p.high)} with people's "
        f"labels. Two judges have one of {_r(p.judges_r, p.judges_low, p.judges_high)} with each other on which "
        "framework did better. That the judges saw the files that people labelled is believed, not proven."
    )
    return Finding("notice", "people", text, "People")


def _r(r: float, low: float, high: float) -> str:
    return f"{number(r, 2)} [{number(low, 2)}, {number(high, 2)}]"


def _other_file(path: Path) -> Finding:
    text = f"{name(path, 200)} is not the released file byte for byte: its checksum differs."
    return Finding("notice", "checksum", text, "File")


def _retracted(decisions: pd.DataFrame) -> Finding:
    """The gain against people's preferences as published, and what of it is left with a tie tolerance."""
    row = decisions.set_index("language").loc["all"]
    published, tolerant = row["cbc_published"] - row["raw_published"], row["cbc"] - row["raw"]
    numbers = (
        f"as published {row['raw_published']} and {row['cbc_published']} of {row['rows']} decisions agree, with a tie "
        f"tolerance {row['raw']} and {row['cbc']}. {row['ties']} margins were exact ties"
    )
    if tolerant == 0 and published != 0:
        start = "The gain against people's preferences is rounding, and retracted by its authors"
        rest = f"; calibrating left about 1e-17 of them, and {row['counted']} were then counted as agreement."
    elif published == tolerant:
        start, rest = "The change against people's preferences does not come from ties", "."
    else:
        start = "The change against people's preferences comes in part from ties"
        rest = f", and {row['counted']} of them were counted as agreement after rounding tipped them."
    return Finding("notice", "anchor", f"{start}: {numbers}{rest}", "Anchor")
