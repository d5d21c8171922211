"""Every number, column and sentence of every question on small planted panels, as it was when it was last looked at.

    python tests/questions/test_values.py    # writes the files anew: look at what changed, and why

Other tests say why a value is right. These say that none changes unseen: a column, a sign, a unit, a count, the values
of a sentence, the way a column is shown. A long column is kept as its length and a few sums over it.
"""

from __future__ import annotations

import dataclasses
import json
import math
import re
import time
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir
from typing import Any

import numpy as np
import pandas as pd
import pytest

import polyjudge as pj
from polyjudge.panel.say import Say, word
from polyjudge.questions.audit.audit import Inside
from polyjudge.questions.position import position
from polyjudge.report import report_of
from polyjudge.report.sections import Chart, Grid, Report, Table

KEPT = Path(__file__).parent / "values"
WORDING = {"title", "caption", "note", "folded", "most", "text", "noun", "calibrator", "digits", "words", "payload"}
"""Fields that are English or layout, and what is tested elsewhere."""
TELLING = {"no", "not", "cannot", "never", "above", "below", "raises", "lowers", "wider", "more", "fewer", "less"}
TELLING |= {"better", "worse", "surely", "perhaps", "may", "tied", "all", "any", "best", "worst", "calibrate", "leave"}
"""Words that turn the meaning of a sentence."""
FEW = 6
CASES: dict[str, Callable[[], Any]] = {}
Line = tuple[str, list[Any]]


def case(function: Callable[[], Any]) -> Callable[[], Any]:
    CASES[function.__name__] = function
    return function


def bones(text: str) -> list[str]:
    """What a sentence says whatever its English: its numbers, and the words that turn its meaning."""
    words = re.findall(r"[+-]?\$?\d[\d,.]*%?|[a-z]+", here(text).lower())
    return [x for x in words if x in TELLING or not x.isalpha()]


def here(text: str) -> str:
    """A text without the name of a folder that is another one in every run."""
    return re.sub(rf"{gettempdir()}/tmp\w+/", "", text)


def lines(value: Any, path: str) -> Iterator[Line]:
    """What a value holds, a line for each part: its single values by name, its columns, its sentences."""
    if isinstance(value, pd.Series):
        value = value.to_dict()
    if isinstance(value, pd.DataFrame):
        named = value.reset_index() if value.index.name or isinstance(value.index, pd.MultiIndex) else value
        for name, column in named.items():
            yield f"{path}.{name}", digest(column.tolist())
    elif isinstance(value, Say):
        more = {k: v for k, v in vars(value).items() if k in ("severity", "matter", "unit")}
        yield path, [value.code, *bones(word(value)), *single({**more, **value.values})]
        yield from parts({k: v for k, v in value.values.items() if isinstance(v, Say)}, path)
    elif isinstance(value, Table | Grid | Chart):
        yield from block(value, path)
    elif isinstance(value, Inside) and path:
        return  # the audit of a criterion: audits have cases of their own
    elif isinstance(value, Mapping) or dataclasses.is_dataclass(value):
        held = dict(value) if isinstance(value, Mapping) else {f.name: getattr(value, f.name) for f in fields(value)}
        held = {k: v for k, v in held.items() if v is not None and (k not in WORDING or isinstance(v, Say))}
        if single(held):
            yield path, single(held)
        yield from parts(held, path)
    elif isinstance(value, list | tuple | np.ndarray):
        every = value.ravel().tolist() if isinstance(value, np.ndarray) else [*value]
        if all(is_single(x) for x in every):
            yield path, digest(every)
        else:
            yield from parts(dict(enumerate(every)), path)


def is_single(value: Any) -> bool:
    return value is None or isinstance(value, float | int | str | np.generic)


def single(values: Mapping[Any, Any]) -> list[Any]:
    """The single values, each after its name; short rows of them too."""
    out: list[Any] = []
    for name, value in values.items():
        if is_single(value):
            out += [f"{name}=", value]
        elif isinstance(value, list | tuple) and 0 < len(value) <= FEW and all(is_single(v) for v in value):
            out += [f"{name}=", *value]
    return out


def parts(values: Mapping[Any, Any], path: str) -> Iterator[Line]:
    for name, value in values.items():
        if not is_single(value):
            yield from (line for line in lines(value, f"{path}.{name}") if line[1])


def digest(values: list[Any]) -> list[Any]:
    """A short row as it is; of a long one the length, the sum and a sum by place, or a check of its texts."""
    if len(values) <= FEW and all(is_single(v) for v in values):
        return values
    numbers = [v for v in values if isinstance(v, float | int | np.number)]
    if len(numbers) < len(values):
        text = json.dumps([str(v) for v in values])
        return [len(values), str(values[0]), str(values[-1]), f"crc{zlib.crc32(text.encode())}"]
    x = np.array(numbers, float)
    there = np.flatnonzero(np.isfinite(x))
    return [len(values), len(there), x[there].sum(), x[there] @ np.sqrt(there + 1)]


def block(value: Table | Grid | Chart, path: str) -> Iterator[Line]:
    """A table, grid or chart: what is shown of which column, and the numbers of all it shows together."""
    told = {name: getattr(value, name, None) for name in ("caption", "note", "alt")}
    yield from parts({k: v for k, v in told.items() if isinstance(v, Say)}, f"{path}.{value.name}")
    if isinstance(value, Chart):
        held = [x for _, each in lines(value.data, "") for x in each if not isinstance(x, str)]
        yield f"{path}.{value.name}", [value.draw, *digest(held + [0] * FEW)]
        if value.instead is not None:
            yield from block(value.instead, f"{path}.instead")
    elif isinstance(value, Grid):
        yield f"{path}.{value.name}", digest(value.values.to_numpy().ravel().tolist() + [0] * FEW)
        for name in ("marks", "texts"):
            if getattr(value, name) is not None:
                yield f"{path}.{value.name}.{name}", digest(getattr(value, name).to_numpy().ravel().tolist())
    else:
        ways = [(c.name, {k: v for k, v in vars(c).items() if v and k not in WORDING}) for c in value.columns]
        yield f"{path}.{value.name}", [" ".join(f"{k}={v}" for k, v in way.items()) for _, way in ways]
        for name, _ in ways:
            yield f"{path}.{name}", [f"name={name}", *digest(value.frame[name].tolist())]


def seen(result: Any) -> list[str]:
    """What a result holds and what its report shows, as lines of text; what was told before, by its head alone."""
    out = [*lines(result, "")]
    report: Report | None = report_of(result)
    if report is not None:
        shown = ("title", "read", "verdict", "picture", "uses", "next", "findings", "sections", "unit", "judges")
        out += lines({name: getattr(report, name) for name in shown}, "report")
    told_before: set[str] = set()
    texts = []
    for path, values in out:
        words = [*map(told, values)]
        again = len(words) > 4 and " ".join(words) in told_before
        told_before |= {" ".join(words), " ".join([f"name={path.rpartition('.')[2]}", *words])}
        texts.append(" ".join([path, *(words[:1] if again else words)]))
    return texts


def told(value: Any) -> str:
    if isinstance(value, bool | np.bool_):
        return str(bool(value))
    if isinstance(value, float | np.floating):
        return f"{float(value):.8g}"
    return "_".join(here(str(value)).split())[:200]


def alike(one: str, other: str) -> bool:
    """Two lines with the same words, and numbers that are equal but for rounding."""
    pairs = [*zip(one.split(), other.split(), strict=False)]
    return len(one.split()) == len(other.split()) and all(a == b or _near(a, b) for a, b in pairs)


def _near(a: str, b: str) -> bool:
    try:
        return math.isclose(float(a), float(b), rel_tol=1e-6, abs_tol=1e-9)
    except ValueError:
        return False


def simulated(*sizes: int, **options: Any) -> pj.Panel:
    return pj.simulate_panel(*sizes, **options)[0]


def weighted(panel: pj.Panel) -> pj.Panel:
    """Units of several tasks each."""
    weights = 1.0 + np.arange(len(panel.tasks)) % 3
    return pj.Panel.from_array(panel.scores, panel.tasks, panel.languages, panel.judges, weights=weights)


def one_cell_off(points: float, **options: Any) -> pj.Panel:
    planted = np.zeros((4, 4))
    planted[1, 2] = points
    return simulated(40, 4, 4, interaction=planted, noise_sd=6, seed=3, **options)


def human_scores(panel: pj.Panel, labels: int = 30, annotators: int = 2, seed: int = 5) -> pd.DataFrame:
    """Labels of the first tasks: what the judges say on average, less a shift by language, by annotators who differ."""
    rng = np.random.default_rng(seed)
    scores = panel.system_scores if panel.systems else panel.scores[:, None]
    assert scores is not None
    truth = np.nanmean(scores, axis=-1) - 6.0 * np.arange(len(panel.languages))
    rows = []
    for t, s, x in np.ndindex(labels, *truth.shape[1:]):
        for a in range(annotators):
            where = (panel.tasks[t], panel.systems[s] if panel.systems else "", panel.languages[x])
            rows.append((*where, f"{panel.languages[x]}-{a}", truth[t, s, x] + 3 * a + rng.normal(0, 5)))
    frame = pd.DataFrame(rows, columns=["task", "system", "language", "annotator", "score"])
    return frame if panel.systems else frame.drop(columns="system")


def probes(k: int, m: int, seed: int = 2) -> tuple[pj.Panel, pj.Panel]:
    """Probes and the panel that they explain: one judge is blind in a language, one falls for form, one is severe."""
    rng = np.random.default_rng(seed)
    names = ("clean", "damage-1", "damage-2", "placebo-1", "plea-1", "padding-1")
    sees, shift, false = np.ones((k, m)), np.zeros((k, m)), np.zeros((k, m))
    sees[0, 0], shift[0, 0], shift[1, 1], false[:, 2] = 0.0, -20.0, 15.0, 8.0
    step = np.array([0.0, 1, 2, 0, 0, 0])[:, None, None] * sees
    form = np.array([0.0, 0, 0, 1, 1, 0])[:, None, None] * false
    scores = 60 + rng.normal(0, 8, (30, 1, 1, 1)) - 9 * step + form + shift + rng.normal(0, 5, (30, 6, k, m))
    audited = 60 + shift + rng.normal(0, 8, (50, 1, 1)) + rng.normal(0, 6, (50, k, m))
    known = {"declared_range": (0.0, 100.0)}
    return pj.Panel.from_array(scores, systems=names, **known), pj.Panel.from_array(audited, **known)


FAMILIES = ["gpt-4o", "gpt-4.1", "claude-opus", "gemini-pro"]


@case
def audit_systems() -> Any:
    panel = simulated(30, 3, 3, 2, systems=3, seed=4, system_sd=4.0)
    more = {"threshold": 50, "sweep": [40, 60], "base": "language2", "cell": ("language1", "judge2")}
    return pj.audit(panel, resamples=100, **more)


@case
def audit_holes() -> Any:
    panel = simulated(36, 3, 4, clusters=12, missing=0.12, seed=5)
    return pj.audit(panel, resamples=100, threshold=52, at_least=True, base="language1", level=0.9, goal="gate")


@case
def audit_weights() -> Any:
    return pj.audit(weighted(simulated(30, 3, 3, seed=8)), resamples=100, threshold=50, matters=3.0)


@case
def audit_culprit() -> Any:
    return pj.audit(one_cell_off(-30.0), resamples=100, goal="rank-judges")


@case
def audit_levels() -> Any:
    return pj.audit(one_cell_off(-30.0, scale="integer", mean=75.0), resamples=100)


@case
def audit_calm() -> Any:
    return pj.audit(simulated(60, 3, 3, interaction=0.0, noise_sd=4, judge_sd=12, seed=6), resamples=100, matters=8.0)


@case
def audit_probes() -> Any:
    asked, audited = probes(3, 4)
    return pj.audit(audited, resamples=100, probes=asked)


@case
def audit_one_language() -> Any:
    whole = simulated(24, 2, 3, systems=3, seed=1)
    return pj.audit(whole.select(languages=whole.languages[:1]), resamples=100, threshold=50)


@case
def audit_criteria() -> Any:
    from polyjudge.questions.audit.by_criterion import audit_criteria

    good, off = simulated(30, 3, 3, systems=3, interaction=0.0, seed=6), simulated(30, 3, 3, systems=3, seed=7)
    return audit_criteria({"clarity": good, "tone": good, "accuracy": off}, resamples=100)


@case
def systems_families() -> Any:
    likes = np.zeros((4, 4))
    likes[0, :2], likes[1, 2] = 9.0, 6.0
    named = {"judges": FAMILIES, "systems": ["gpt-5", "claude-haiku", "llama", "mistral"]}
    panel = simulated(40, 3, replicates=2, judge_system=likes, system_language=3.0, seed=9, **named)
    return pj.systems(panel, resamples=100)


@case
def systems_holes() -> Any:
    return pj.systems(simulated(40, 3, 3, systems=4, missing=0.1, clusters=10, seed=2), resamples=100, level=0.9)


@case
def systems_blind() -> Any:
    return pj.systems(simulated(30, 2, 4, systems=3, sees=0.0, task_system_sd=0.0, seed=3), resamples=100)


@case
def systems_length() -> Any:
    panel = simulated(30, 2, 3, systems=3, seed=11)
    items = panel.to_long().drop_duplicates(["task", "system", "language"])
    size = 20 + (50 + items["score"] - items["score"].min()).astype(int) * (1 + items["system"].str[-1].astype(int))
    texts = items.assign(response=["x" * n for n in size])[["task", "system", "language", "response"]]
    return pj.systems(panel, items=texts, resamples=100)


@case
def systems_position() -> Any:
    rng, rows = np.random.default_rng(1), []
    for t, language, judge in np.ndindex(50, 2, 3):
        for a, b in (("x", "y"), ("y", "x")):
            won = rng.random() < (0.7 if a == "x" else 0.3) + 0.3 * (judge == 1)
            rows.append((f"t{t}", f"l{language}", f"J{judge}", a, b, "model_a" if won else "model_b"))
    frame = pd.DataFrame(rows, columns=["task", "language", "judge", "model_a", "model_b", "winner"])
    found = position(pj.read_panel(frame))
    assert found is not None
    return found


@case
def compare_methods() -> Any:
    return pj.compare(simulated(30, 3, 4, seed=12), ["raw", "cbc", "shrunken", "sparse"], resamples=60)


@case
def compare_labels() -> Any:
    panel = simulated(30, 3, 3, clusters=10, missing=0.05, seed=13)
    return pj.compare(panel, resamples=60, gold=human_scores(panel, annotators=1))


@case
def probe_alone() -> Any:
    return pj.probe(probes(3, 4)[0])


@case
def probe_explains() -> Any:
    asked, audited = probes(3, 4, seed=4)
    return pj.probe(asked, audit=audited, matters=4.0, level=0.9)


@case
def judges_prices() -> Any:
    panel = simulated(40, 3, systems=4, judges=FAMILIES, sees=np.array([1.0, 1.0, 0.5, 0.1]) * np.ones((3, 1)), seed=14)
    prices = dict(zip(FAMILIES, (3.0, 1.0, 2.0, 0.5), strict=True))
    return pj.judges(panel, prices=prices, budget=20.0, resamples=60)


@case
def judges_labels() -> Any:
    panel = simulated(40, 2, 4, clusters=10, seed=15)
    return pj.judges(panel, gold=human_scores(panel, annotators=1), target=0.5, max_judges=3, resamples=60)


@case
def judges_swap() -> Any:
    panel = simulated(40, 3, 4, systems=3, seed=16)
    return pj.judges(panel, swap=("judge1", "judge3"), matters=6.0, threshold=50.0)


@case
def judges_swap_guarded() -> Any:
    panel = simulated(40, 3, 4, clusters=10, missing=0.05, seed=17)
    return pj.judges(panel, swap=("judge2", "judge4"), guard=True, alone=True, level=0.9)


@case
def anchor_scores() -> Any:
    panel = simulated(50, 3, 3, seed=18)
    return pj.anchor(panel, human_scores(panel), resamples=60)


@case
def anchor_systems() -> Any:
    panel = simulated(40, 2, 3, systems=3, clusters=10, missing=0.05, seed=19)
    return pj.anchor(panel, human_scores(panel, labels=25), resamples=60, matters=3.0)


@case
def anchor_passing() -> Any:
    panel = simulated(50, 3, 3, seed=20)
    asked = pj.probe(probes(3, 3, seed=5)[0])
    return pj.anchor(panel, human_scores(panel, annotators=1), threshold=50.0, probed=asked, resamples=60)


@case
def anchor_preferences() -> Any:
    rng = np.random.default_rng(21)
    margins = np.rint(rng.normal(0.5, 1.5, (60, 3, 1)) + rng.normal(0, 1, (60, 3, 4)) + rng.normal(0, 0.7, (3, 4)))
    panel = pj.Panel.from_array(margins)
    rows = [
        (panel.tasks[t], panel.languages[x], int(np.sign(margins[t, x].sum() + rng.normal(0, 2)) or 1))
        for t, x in np.ndindex(45, 3)
    ]
    return pj.anchor(panel, pd.DataFrame(rows, columns=["task", "language", "preference"]), resamples=60)


@case
def anchor_trusted() -> Any:
    return pj.anchor(weighted(simulated(40, 3, 4, seed=22)), trusted="judge2", resamples=60)


@case
def plan_numbers() -> Any:
    return pj.plan(judges=4, languages=5, sigma=9.0, radius=3.0, score_range=(0, 100), tasks=[20, 60, 200], draws=60)


@case
def plan_pilot() -> Any:
    prices = dict.fromkeys(("judge1", "judge2", "judge3"), 0.25)
    return pj.plan(simulated(30, 3, 3, 2, seed=23), radius=4.0, prices=prices, draws=60)


@case
def plan_separate() -> Any:
    from polyjudge.questions.plan.separate import separate

    panel = simulated(30, 2, 3, 2, systems=3, seed=24)
    return separate(panel, 4.0, prices={"judge1": 2.0, "judge2": 3.0, "judge3": 1.0})


@case
def plan_labels() -> Any:
    from polyjudge.panel.gold import align_gold
    from polyjudge.questions.plan.label_plan import label_budget

    panel = simulated(60, 3, 3, seed=25)
    return label_budget(panel, align_gold(panel, human_scores(panel, annotators=1)), 1.5, batch=40)


@case
def plan_replay_judges() -> Any:
    return pj.replay(simulated(96, 2, 3, seed=26), matters=4.0, resamples=100)


@case
def plan_replay_systems() -> Any:
    panel = simulated(60, 2, 3, systems=3, clusters=20, seed=27)
    return pj.replay(panel, questions="systems", matters=4.0, guard=True, resamples=100, first=12)


@case
def plan_replay_cells() -> Any:
    return pj.replay(one_cell_off(-30.0), questions="cells", matters=6.0, resamples=100, first=12)


def drifted(change: Callable[[np.ndarray], None], **options: Any) -> Any:
    truth = simulated(40, 3, 4, noise_sd=0.0, seed=28, **options)
    before = truth.system_scores if truth.systems else truth.scores
    rng = np.random.default_rng(29)
    assert before is not None
    old, new = (before + rng.normal(0, 3, before.shape) for _ in range(2))
    change(new)
    labels = truth.tasks, truth.languages, truth.judges
    more = {"systems": truth.systems} if truth.systems else {}
    cal = pj.ConsensusCalibrator().fit(pj.Panel.from_array(old, *labels, **more))
    return pj.drift(cal, pj.Panel.from_array(new, *labels, **more), runs=3)


@case
def drift_none() -> Any:
    return drifted(lambda new: None)


@case
def drift_cell() -> Any:
    return drifted(lambda new: np.add.at(new, (slice(None), 1, 2), -12.0))


@case
def drift_judge_and_language() -> Any:
    def change(new: np.ndarray) -> None:
        new[:, :, 1] += 9.0
        new[:, 2] -= 4.0
        new[5, 1, 1] = np.nan

    return drifted(change)


@case
def drift_systems() -> Any:
    def change(new: np.ndarray) -> None:
        new[:, 1] += 10.0
        new[:, :, 2, 3] -= 9.0

    return drifted(change, systems=4)


@case
def drift_reports() -> Any:
    from polyjudge.questions.drift.difference import difference

    old, new = (pj.audit(p, resamples=100).to_dict() for p in (one_cell_off(0.0), one_cell_off(-25.0)))
    return difference(old, new)


@case
def check_systems() -> Any:
    return pj.check(simulated(20, 3, 3, 2, systems=3, missing=0.1, seed=30))


@case
def check_frame() -> Any:
    frame = simulated(12, 2, 3, seed=31).to_long().rename(columns={"judge": "model_name", "language": "lang"})
    return pj.check(frame)


@case
def check_one_judge() -> Any:
    whole = simulated(12, 2, 2, seed=32)
    return pj.check(whole.select(judges=whole.judges[:1]))


@case
def label_made() -> Any:
    with TemporaryDirectory() as folder:
        return pj.label.make(simulated(60, 2, 3, systems=2, seed=33), output=Path(folder) / "labels", per_language=16)


@case
def label_returned() -> Any:
    panel = pj.Panel.from_array(np.random.default_rng(34).integers(1, 6, (50, 2, 3)), declared_range=(1, 5))
    with TemporaryDirectory() as name:
        folder = Path(name) / "labels"
        pj.label.make(panel, output=folder, per_language=12)
        for number, sheet in enumerate(sorted((folder / "sheets").glob("*.csv"))[:3]):
            table = pd.read_csv(sheet, dtype=str)
            table["label"] = [str(1 + (i + number) % 5) if i % 7 else None for i in range(len(table))]
            table.to_csv(sheet, index=False)
        return pj.label.read(folder)


@pytest.mark.parametrize("name", CASES)
def test_values_are_as_they_were(name: str) -> None:
    kept = (KEPT / f"{name}.txt").read_text(encoding="utf-8").splitlines()
    found = seen(CASES[name]())
    assert [(old, new) for old, new in zip(kept, found, strict=False) if not alike(old, new)] == []
    assert len(kept) == len(found)


def write() -> None:
    KEPT.mkdir(exist_ok=True)
    for name, make in CASES.items():
        start = time.perf_counter()
        (KEPT / f"{name}.txt").write_text("\n".join(seen(make())) + "\n", encoding="utf-8")
        print(f"{name}: {time.perf_counter() - start:.1f} s")


if __name__ == "__main__":
    write()
