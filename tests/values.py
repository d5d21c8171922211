"""Every number, column and sentence of a question on small planted panels, as it was when it was last looked at.

    python tests/values.py            # writes what is kept anew: look at what changed, and why
    python tests/values.py plan       # of one question

Other tests say why a value is right. These say that none changes unseen: a column, a sign, a unit, a count, the values
of a sentence, the way a column is shown. A long column is kept as its length and two sums over it.
"""

from __future__ import annotations

import dataclasses
import math
import re
import sys
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields
from importlib import import_module
from pathlib import Path
from tempfile import gettempdir
from typing import Any

import numpy as np
import pandas as pd

import polyjudge as pj
from polyjudge.panel import say
from polyjudge.panel.say import Say, word
from polyjudge.report import report_of
from polyjudge.report.result import Result
from polyjudge.report.sections import Chart, Folded, Grid, Report, Table

WORDING = {"title", "caption", "note", "folded", "most", "text", "noun", "calibrator", "digits", "words", "payload"}
"""Fields that are English or layout, and what is tested elsewhere."""
FEW = 6
Line = tuple[str, list[Any]]


class Cases(dict[str, Callable[[], Any]]):
    """The cases of a question by name; what they gave is kept in `values.txt` beside the file that has them.

    Sentences that a result said are kept with their words; so are other wordings of them, of values that are made up.
    """

    def __init__(self, file: str) -> None:
        self.kept = Path(file).with_name("values.txt")

    def __call__(self, function: Callable[[], Any]) -> Callable[[], Any]:
        """Takes a function as a case."""
        self[function.__name__] = function
        return function

    def changed(self, name: str) -> list[tuple[str, str]]:
        """The lines that are not as they were."""
        old = self.read()[name]
        new = seen(self[name]())
        more = [(line, "") for line in old[len(new) :]] + [("", line) for line in new[len(old) :]]
        return [pair for pair in zip(old, new, strict=False) if not alike(*pair)] + more

    def read(self) -> dict[str, list[str]]:
        parts = f"\n{self.kept.read_text(encoding='utf-8')}".split("\n# ")[1:]
        return {name: lines for name, *lines in map(str.splitlines, parts)}

    def write(self) -> None:
        known, met = say._template, set[str]()
        say._template = lambda code: noting(code, known(code), met)
        made = [name for name in self if name.endswith("_sentences")]
        parts = {name: seen(self[name]()) for name in self if name not in made}
        parts["sentences"] = sorted(met)
        parts |= {name: seen(self[name]()) for name in made}
        parts["wordings"] = sorted(met.difference(parts["sentences"]))
        say._template = known
        text = "".join("\n".join([f"# {name}", *lines, ""]) for name, lines in parts.items())
        self.kept.write_text(text, encoding="utf-8")


def sentence(value: Say) -> list[str]:
    """A sentence by its code, the sign of its words and the numbers in them."""
    return [signed(value.code, filled(value)).split()[0], *re.findall(r"[+-]?\$?\d[\d,.]*%?", here(word(value)))]


def filled(value: Say) -> str:
    made = say._template(value.code)
    return made(value.values) if callable(made) else made


def noting(code: str, words: say.Template, met: set[str]) -> say.Template:
    """The words of a code; those that it takes are noted, with their sign."""

    def made(values: say.Values) -> str:
        text = words(values) if callable(words) else words
        met.add(signed(code, text))
        return text

    return made


def signed(code: str, text: str) -> str:
    """A code with the sign of its words, and them."""
    words = without_values(text)
    return f"{code}~{zlib.crc32(words.encode()) % 0x10000:04x} {words}"


def without_values(text: str) -> str:
    """The words of a sentence without numbers and labels that its function put into them."""
    return " ".join(re.sub(r"\d+(?:[.,]\d+)*", "0", here(text)).split())


def here(text: str) -> str:
    """A text without the name of a folder that is another one in every run."""
    return re.sub(rf"{gettempdir()}/tmp\w+/", "", text)


def lines(value: Any, path: str) -> Iterator[Line]:
    """What a value holds, a line for each part: its single values by name, its columns, its sentences."""
    if isinstance(value, pd.Series):
        value = value.to_dict()
    if isinstance(value, pd.DataFrame):
        named = value.reset_index() if value.index.name or isinstance(value.index, pd.MultiIndex) else value
        if list(named.index) != list(range(len(named))):
            yield f"{path}.index", digest(named.index.tolist())
        for name, column in named.items():
            yield f"{path}.{name}", digest(column.tolist())
    elif isinstance(value, Say):
        more = {
            k: v for k, v in vars(value).items() if k in ("severity", "matter", "unit") and v not in (None, "points")
        }
        yield path, [*sentence(value), *single({**more, **value.values})]
        yield from parts({k: v for k, v in value.values.items() if isinstance(v, Say)}, path)
    elif isinstance(value, Table | Grid | Chart):
        yield from block(value, path)
    elif type(value).__name__ == "Audit" and path:
        return  # the audit of a criterion: audits have cases of their own
    elif isinstance(value, Mapping) or dataclasses.is_dataclass(value):
        held = dict(value) if isinstance(value, Mapping) else {f.name: getattr(value, f.name) for f in fields(value)}
        held = {k: v for k, v in held.items() if v is not None and (k not in WORDING or isinstance(v, Say))}
        if type(value).__name__ == "Audit":  # what other questions found has cases of its own
            held = {k: v for k, v in held.items() if k not in ("systems", "signal", "position", "held_out", "probes")}
        if single(held):
            yield path, single(held)
        yield from parts(held, path)
    elif isinstance(value, list | tuple | np.ndarray | Folded):
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
        return [len(values), str(values[0]), str(values[-1]), check([str(v) for v in values])]
    x = np.array(numbers, float)
    there = np.flatnonzero(np.isfinite(x))
    return [len(values), len(there), x[there].sum(), x[there] @ np.sqrt(there + 1)]


def block(value: Table | Grid | Chart, path: str) -> Iterator[Line]:
    """A table, grid or chart: what is shown of which column, and the numbers of all it shows together."""
    told = {name: getattr(value, name, None) for name in ("caption", "note", "alt")}
    yield from parts({k: v for k, v in told.items() if isinstance(v, Say)}, f"{path}.{value.name}")
    if isinstance(value, Chart):
        drawn = (each for name, each in lines(value.data, "") if not name.endswith(".index"))
        held = [x for each in drawn for x in each if not isinstance(x, str)]
        yield f"{path}.{value.name}", [value.draw, *digest(held + [0] * FEW)]
        if value.instead is not None:
            yield from block(value.instead, f"{path}.instead")
    elif isinstance(value, Grid):
        yield f"{path}.{value.name}", digest(value.values.to_numpy().ravel().tolist() + [0] * FEW)
        for name in ("marks", "texts"):
            if getattr(value, name) is not None:
                yield f"{path}.{value.name}.{name}", digest(getattr(value, name).to_numpy().ravel().tolist())
    else:
        shown = [{k: v for k, v in vars(c).items() if v and k not in WORDING} for c in value.columns]
        names = ",".join(c.name for c in value.columns)
        every = [name for c in value.columns for name in (c.name, c.low, c.high, c.se) if name]
        held = [x for name in every for x in list(value.frame[name])]
        numbers = [x for x in held if isinstance(x, float | int)]
        texts = [str(x) for x in held if not isinstance(x, float | int)]
        yield f"{path}.{value.name}", [names, check(shown), check(texts), *digest(numbers + [0] * FEW)]


def check(value: Any) -> str:
    """A short sign of a long text."""
    return f"crc{zlib.crc32(str(value).encode())}"


class Said(tuple[Any, ...]):
    """Results of which only the sentences are kept, each once."""


def seen(result: Any) -> list[str]:
    """What a result holds and what its report shows, as lines of text; what was told before, by its head alone."""
    if isinstance(result, Said):
        every = (line.partition(" ")[2] for one in result for line in seen(one))
        return [*dict.fromkeys(line for line in every if re.match(r"[\w.-]+~\w{4}( |$)", line))]
    out = [*lines(result, "")]
    report: Report | None = report_of(result) if isinstance(result, Result) else None
    if report is not None:
        shown = "title read verdict picture beside uses next findings sections unit judges"
        parts = {name: getattr(report, name) for name in shown.split()}
        out += lines(parts | {"sections": tuple(report.sections)}, "report")
    before: set[str] = set()
    texts = []
    for path, values in out:
        words = [*map(told, values)]
        again = len(words) > 4 and " ".join(words) in before
        before.add(" ".join(words))
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


# --- planted panels ---


@contextmanager
def bound(module: Any, **limits: int) -> Iterator[None]:
    """With other bounds of time."""
    before = {name: getattr(module, name) for name in limits}
    vars(module).update(limits)
    yield
    vars(module).update(before)


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


def binary(k: int, m: int, systems: int = 0, tasks: int = 40) -> pj.Panel:
    """Pass or fail; one judge hardly passes anything in one language."""
    planted = np.zeros((k, m))
    planted[-1, 0] = -30.0
    panel = simulated(tasks, k, m, systems=systems, interaction=planted, seed=40)
    scores = panel.system_scores if systems else panel.scores
    assert scores is not None
    named = {"systems": panel.systems} if systems else {}
    return pj.Panel.from_array((scores > 45).astype(float), panel.tasks, panel.languages, panel.judges, **named)


def holed(panel: pj.Panel, holes: Any) -> pj.Panel:
    scores = panel.scores.copy()
    scores[holes] = np.nan
    return pj.Panel.from_array(scores, panel.tasks, panel.languages, panel.judges)


if __name__ == "__main__":
    questions = Path(__file__).parent / "questions"
    for file in sorted(questions.glob("*/test_*_values.py")):
        if file.parent.name in sys.argv[1:] or not sys.argv[1:]:
            sys.path.insert(0, str(file.parent))
            import_module(file.stem).CASES.write()
