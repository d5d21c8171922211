"""How is a file of scores read, and what can be answered from it? Nothing is estimated."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from polyjudge.base.numbers import percent
from polyjudge.base.text import count, name, names, shell
from polyjudge.panel import Panel
from polyjudge.report.model import Finding, Report, Result, Section, Step, Table

if TYPE_CHECKING:
    import pandas as pd

MOST_LEVELS = 12
"""Distinct scores up to which all are shown."""
ROLES = ("task", "system", "language", "judge", "score", "human", "criterion", "replicate", "cluster")


@dataclass(frozen=True, repr=False)
class Check(Result):
    """How scores were read. Frames:

    roles : role, column (empty where no column holds it), labels (how many), examples
    coverage : language, judge, scored, missing (scores)
    answers : question, able, why (not)
    """

    roles: pd.DataFrame
    coverage: pd.DataFrame
    answers: pd.DataFrame
    levels: tuple[float, ...]
    """The distinct scores, where they are few."""
    unused: tuple[str, ...]
    failed: int
    """Rows whose own error column says that they failed: read as missing."""
    findings: tuple[Finding, ...]
    panel_: Panel
    source_: str

    @property
    def panel(self) -> Panel:
        """The scores as they were read."""
        return self.panel_

    def report(self) -> Report:
        """The report."""
        p = self.panel_
        head = {"role": "text", "column": "text", "labels": "count", "examples": "text"}
        board = Table(
            "roles", "Which column holds what", self.roles, head, {"labels": "different", "examples": "such as"}
        )
        shown = {"language": "name", "judge": "name", "scored": "count", "missing": "count"}
        cover = Table("coverage", "Scores by language and judge", self.coverage, shown, {"language": p.noun})
        able = Table(
            "answers", "What can be answered", self.answers, {"question": "text", "able": "yes", "why": "text"}
        )
        words = " ".join(p.read)
        command = f"polyjudge audit {shell(self.source_ or 'scores.csv')}{' ' + words if words else ''}"
        sections = (
            Section("answers", "What can be answered", tables=(able,)),
            Section("coverage", "Coverage", tables=(cover,), open=False),
        )
        return Report("check", "How the scores are read", (p.facts,), self.findings, board, (Step(command),), sections)


def check(source: Any, **columns: Any) -> Check:
    """How is a file of scores read, and what can be answered from it?

    Long tables (one row a score), wide tables (one column of scores a judge), pairs with a winner, one row a case with
    human and judge columns, and files of evaluation tools are read. Name a column where its role is not seen by itself.

    source : file, table or frame of scores

    Examples:
        polyjudge check scores.csv
        polyjudge check results.parquet --judge backbone --replicate run
    """
    if isinstance(source, Panel):
        panel, levels = source, np.unique(source.scores[np.isfinite(source.scores)])
        roles: dict[str, str] = {}
        unused: tuple[str, ...] = ()
        failed = 0
    else:
        from polyjudge.read import explain

        found = explain(source, **columns)
        panel, roles, unused, failed, levels = found.panel, found.roles, found.unused, found.failed, found.levels
        levels = levels if len(levels) else np.array(panel.scale)
    cover = _coverage(panel)
    answers = _answers(panel)
    said = [_levels(panel, levels), *_missing(panel, cover)]
    if failed:
        text = f"{count(failed, 'row')} marked as failed {'is' if failed == 1 else 'are'} read as missing."
        said.append(Finding("notice", "failed", text, "Missing"))
    if unused:
        said.append(Finding("info", "unused", f"Not read: {names(unused, 8)}.", "Columns"))
    said += [Finding("notice", "note", text, "Note") for text in panel.notes]
    lacking = answers[~answers["able"].astype(bool)]
    can = names(answers.loc[answers["able"].astype(bool), "question"], 12)
    text = f"{can[0].upper()}{can[1:]}." if can != "none" else "Nothing yet: see below what is lacking."
    said.append(Finding("info", "able", text, "Answers"))
    if len(lacking):
        parts = [f"{names(rows['question'], 12)} ({why})" for why, rows in lacking.groupby("why", sort=False)]
        said.append(Finding("info", "unable", f"Not: {'; '.join(parts)}.", "Answers"))
    single = bool((panel.weight == 1).all())  # else rows are means of hashed units
    few = tuple(float(x) for x in levels) if single and len(levels) <= MOST_LEVELS else ()
    return Check(
        _roles(panel, roles, levels), cover, answers, few, tuple(unused), failed, tuple(said), panel, panel.source
    )


def _roles(panel: Panel, roles: dict[str, str], levels: Any) -> pd.DataFrame:
    import pandas as pd

    rows = []
    tasks = panel.tasks if (panel.weight == 1).all() else ()
    labels: dict[str, tuple[str, ...]] = {
        "task": tasks, "system": panel.systems, "language": panel.languages, "judge": panel.judges,
        "criterion": tuple(panel.criteria),
    }  # fmt: skip
    for role in (*ROLES, *(r for r in roles if r not in ROLES)):
        column = roles.get(role, "")
        if role == "judge" and not column:
            column = roles.get("judges", "")
        own = [x for x in labels.get(role, ()) if x]
        if role == "judges" or not (column or len(own) > 1):
            continue
        title = panel.noun if role == "language" else role
        size = round(panel.weight.sum()) if role == "task" else len(own)
        examples = ", ".join(name(x, 20) for x in own[:2]) + (", ..." if len(own) > 2 else "") or None
        if role == "score":
            size = len(levels) if (panel.weight == 1).all() else 0
            examples = f"{levels[0]:g} to {levels[-1]:g}"
        rows.append((title, name(column) if column else None, size or None, examples))
    return pd.DataFrame(rows, columns=["role", "column", "labels", "examples"])


def _coverage(panel: Panel) -> pd.DataFrame:
    import pandas as pd

    scored = np.einsum("nslb,n->lb", np.isfinite(panel.scores).astype(float), panel.weight)
    whole = panel.weight.sum() * len(panel.systems)
    pairs = [(x, b) for x in panel.languages for b in panel.judges]
    frame = pd.DataFrame(pairs, columns=["language", "judge"])
    return frame.assign(scored=scored.round().astype(int).ravel(), missing=(whole - scored).round().astype(int).ravel())


def _answers(panel: Panel) -> pd.DataFrame:
    """What each question needs."""
    import pandas as pd

    _, s, k, m = panel.shape
    two = f"needs two {panel.nouns}" if k < 2 else "needs two judges"
    several = min(k, m) > 1
    people = panel.human is not None
    rows = [
        ("which system wins", s > 1, "" if s > 1 else "needs two systems"),
        ("whether the judges agree", m > 1, "" if m > 1 else "needs two judges"),
        ("what is off", several, "" if several else two),
        ("calibrating", several, "" if several else two),
        ("drift", True, ""),
        ("swapping a judge", m > 1, "" if m > 1 else "needs two judges"),
        ("judges against people", people, "" if people else "needs human labels"),
    ]
    return pd.DataFrame(rows, columns=["question", "able", "why"])


def _levels(panel: Panel, levels: Any) -> Finding:
    """The scale."""
    low, high = panel.scale
    if len(levels) <= MOST_LEVELS and bool((panel.weight == 1).all()):
        text = f"The scores are {names([f'{x:g}' for x in levels], MOST_LEVELS)}."
    else:
        text = f"The scale is {low:g} to {high:g}."
        if bool((panel.weight == 1).all()):
            text = f"The scale is {low:g} to {high:g}, with {len(levels):,} different scores."
    return Finding("info", "scale", text, "Scores")


def _missing(panel: Panel, cover: pd.DataFrame) -> list[Finding]:
    """What is missing, and where most."""
    gone, whole = int(cover["missing"].sum()), int((cover["missing"] + cover["scored"]).sum())
    if not gone:
        return []
    share = cover["missing"] / (cover["missing"] + cover["scored"]).clip(lower=1)
    most = cover.assign(share=share.round(9)).sort_values("share", ascending=False, kind="stable").iloc[0]
    text = f"{gone:,} of {whole:,} scores are missing ({percent(gone / whole)})."
    if len(cover) > 1 and most["share"] > 2 * gone / whole:
        place = f" in {name(most['language'])}" if most["language"] else ""
        text += f" Most: {name(most['judge'])}{place} lacks {percent(float(most['share']))}."
    return [Finding("notice", "missing", text, "Missing")]
