"""Two audits compared: what changed between them beyond noise. Works on their JSON, so the scores are not needed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import stdtrit

from polyjudge.second.estimate.resample import check_level
from polyjudge.second.panel.errors import PanelError, UsageError
from polyjudge.second.panel.files import read_json
from polyjudge.second.panel.labels import clean
from polyjudge.second.report.result import Result
from polyjudge.second.report.schema import MOST
from polyjudge.second.report.sections import Finding


class Difference(Result):
    """New less old, in score points, with intervals that hold for all rows of a table together.

    The audits are taken as independent. Where they share tasks the true intervals are narrower, so a change that is
    clear here is clear.
    """

    cells: pd.DataFrame
    """language, judge, old, new, change, se, low, high, clear"""
    judges: pd.DataFrame
    """judge, old, new, change, se, low, high, clear: how lenient a judge is"""
    languages: pd.DataFrame
    """language, old, new, change, se, low, high, clear: the shift that all judges share"""
    gone: tuple[str, ...]
    """Codes of findings that only the old audit has."""
    arrived: tuple[str, ...]
    same_scores: bool
    tasks_old: int
    tasks_new: int
    level: float
    findings: list[Finding]
    inside: bool = False
    """The audits compare nothing between languages: `cells` are mean scores, and there are no other tables."""


def difference(old: Mapping[str, Any], new: Mapping[str, Any], *, level: float = 0.95) -> Difference:
    """What changed from the audit `old` to the audit `new` (their `to_dict`, or the JSON that `audit -o` writes).

    level : confidence with which all intervals of a table hold together (Bonferroni)

    >>> import polyjudge.second as pj
    >>> one = pj.audit(pj.simulate_panel(tasks=20, languages=2, judges=3, seed=1)[0], resamples=100).to_dict()
    >>> difference(one, one).cells["clear"].any()
    False
    """
    check_level(level)
    for word, audit in (("first", old), ("second", new)):
        if not isinstance(audit, Mapping) or "uncertainty" not in audit or "summary" not in audit:
            raise UsageError(f"The {word} file is no audit. Compare two files that `polyjudge audit -o DIR` wrote.")
    first, second = _read(old, "first"), _read(new, "second")
    for axis in ("languages", "judges"):
        _same(axis, first[axis], second[axis])
    tasks = first["tasks"], second["tasks"]
    freedom = min(tasks) - 1
    if ("by_judge" in first) != ("by_judge" in second):
        raise PanelError("One of the audits compares languages, the other cannot. Compare audits of the same shape.")
    none = pd.DataFrame(columns=["judge", "language", "value", "se"]).astype({"value": float, "se": float})
    cells, judges, languages = (
        _change(first.get(name, none), second.get(name, none), keys, freedom, level)
        for name, (_, keys, _) in TABLES.items()
    )
    before, after = first["findings"], second["findings"]
    same = old["summary"].get("fingerprint") == new["summary"].get("fingerprint")
    return Difference(
        cells=cells,
        judges=judges,
        languages=languages,
        gone=tuple(sorted((before - after).elements())),
        arrived=tuple(sorted((after - before).elements())),
        same_scores=bool(same),
        tasks_old=tasks[0],
        tasks_new=tasks[1],
        level=level,
        findings=_findings(cells, judges, languages),
        inside="by_judge" not in first,
    )


def is_report(path: Path) -> bool:
    """Whether a path is a report of polyjudge, or a folder of one, and not a calibrator."""
    if path.is_dir():
        return True
    try:
        data = read_json(path, MOST)
    except PanelError:
        return path.suffix.lower() == ".html"
    return isinstance(data, dict) and "command" in data


def _same(axis: str, old: list[str], new: list[str]) -> None:
    """An interaction is relative to the others in the panel: with other judges or languages it means something else."""
    gone, come = [x for x in old if x not in new], [x for x in new if x not in old]
    if not gone and not come:
        return
    parts = [f"{word} {', '.join(clean(x) for x in some)}" for word, some in (("lost", gone), ("gained", come)) if some]
    shared = [x for x in old if x in new]
    raise PanelError(
        f"The audits have different {axis}: the second has {' and '.join(parts)}. A judge's deviation in a language is "
        f"relative to the others, so compare audits of the same {axis}: --{axis} {','.join(map(clean, shared))}."
    )


TABLES: dict[str, tuple[tuple[str, ...], list[str], str]] = {
    "cells": (("uncertainty", "cells"), ["language", "judge"], "interaction"),
    "by_judge": (("judge_effect",), ["judge"], "effect"),
    "by_language": (("language_effect",), ["language"], "effect"),
}
"""Where a table stands in an audit, its keys and its value."""
INSIDE = {"cells": (("means",), ["language", "judge"], "mean")}
"""The same of an audit inside languages (one language, one judge, no common tasks): the mean scores themselves."""


def _read(audit: Mapping[str, Any], word: str) -> dict[str, Any]:
    """The parts of an audit that are compared; an error where a file was changed by hand or is damaged."""
    try:
        out: dict[str, Any] = {axis: _labels(audit["summary"][axis]) for axis in ("languages", "judges")}
        out["tasks"] = int(audit["summary"]["tasks"])
        out["findings"] = Counter(str(f["code"]) for f in audit.get("findings", []))
        inside = audit["uncertainty"] is None
        for name, (path, keys, value) in (INSIDE if inside else TABLES).items():
            rows: Any = audit
            for step in path:
                rows = rows[step]
            frame = pd.DataFrame(rows)
            if inside:
                half = (frame["high"] - frame["low"]) / 2
                frame = frame.assign(se=half / stdtrit(frame["tasks"] - 1, (1 + float(audit["level"])) / 2))
            frame = frame[[*keys, value, "se"]]
            out[name] = frame.astype({value: float, "se": float}).rename(columns={value: "value"})
            if not all(isinstance(x, str) for key in keys for x in frame[key]) or frame.duplicated(keys).any():
                raise ValueError(name)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, OverflowError):
        raise UsageError(f"The {word} audit is damaged: a part of it is missing or no table of numbers.") from None
    return out


def _labels(value: Any) -> list[str]:
    """A list of names."""
    if not isinstance(value, (list, tuple)) or not all(isinstance(x, str) for x in value):
        raise TypeError("labels must be a list of strings")
    return list(value)


def _change(old: pd.DataFrame, new: pd.DataFrame, keys: list[str], freedom: int, level: float) -> pd.DataFrame:
    """New less old, row by row, with intervals that hold together."""
    both = old.merge(new, on=keys, suffixes=("_old", "_new"), how="inner")
    change = (both["value_new"] - both["value_old"]).to_numpy(float)
    se = np.hypot(both["se_old"].to_numpy(float), both["se_new"].to_numpy(float))
    critical = float(stdtrit(max(freedom, 1), 1 - (1 - level) / (2 * max(len(both), 1))))
    half = critical * se
    return both[keys].assign(
        old=both["value_old"],
        new=both["value_new"],
        change=change,
        se=se,
        low=change - half,
        high=change + half,
        clear=np.abs(change) > half + 1e-12,
    )


def _findings(cells: pd.DataFrame, judges: pd.DataFrame, languages: pd.DataFrame) -> list[Finding]:
    out = []
    for code, table, keys in (
        ("difference.cells", cells, ("language", "judge")),
        ("difference.judges", judges, ("judge",)),
        ("difference.languages", languages, ("language",)),
    ):
        clear = table[table["clear"]]
        if clear.empty:
            continue
        top = clear.iloc[int(np.argmax(np.abs(clear["change"].to_numpy(float))))]
        values = {"count": len(clear), "of": len(table), **{k: str(top[k]) for k in keys}}
        values |= {k: float(top[k]) for k in ("change", "low", "high", "old", "new")}
        out.append(Finding(code, values, "warning" if code == "difference.cells" else "notice"))
    return out
