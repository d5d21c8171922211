"""Planted panels for what is off, named, sloped, floored and agreed (rows O, N, S, F and A1 of scenarios.csv).

scores = task (sd 12) + task:language (sd 3) + noise (sd 5) + what is planted + 50.
CLAIMS[id](seed) simulates one panel of each size and noise and says of each whether the event that the row measures
happened: a list of (variant, happened).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from polyjudge.answers.audit.off import Off, off
from polyjudge.panel import Panel
from polyjudge.stats.agreement import agreement
from polyjudge.stats.cells import excess

Array = NDArray[np.float64]
Found = list[tuple[str, bool]]


def noise(g: np.random.Generator, shape: tuple[int, ...], kind: str) -> Array:
    """Noise of sd 5 (unequal: of sd 5 times a log-normal factor for each cell)."""
    if kind == "exponential":
        return 5 * (g.exponential(size=shape) - 1)
    size = np.exp(g.normal(0, 0.6, shape[-2:])) if kind == "unequal" else 1.0
    return 5 * g.normal(size=shape) * size


def scores(g: np.random.Generator, n: int, k: int, m: int, kind: str = "normal", planted: Any = 0.0) -> Array:
    """(n, 1, k, m) scores; `planted` is added."""
    level = g.normal(0, 12, (n, 1, 1, 1)) + g.normal(0, 3, (n, 1, k, 1))
    return 50 + level + noise(g, (n, 1, k, m), kind) + planted


def likert(y: Array) -> Array:
    """1 to 5."""
    return np.clip(np.round(3 + (y - 50) / 13), 1, 5)


def passes(g: np.random.Generator, n: int, rates: Array) -> Array:
    """0 and 1 with these rates (k, m); two scores of one task are correlated by 0.4 before they are cut."""
    z = np.sqrt(0.4) * g.normal(size=(n, 1, 1, 1)) + np.sqrt(0.6) * g.normal(size=(n, 1, *rates.shape))
    return (z < ndtri(rates)).astype(float)


def panel(y: Array, **more: Any) -> Panel:
    """A panel; its scale is what is evident."""
    return Panel.from_array(y, **more)


def any_noise(g: np.random.Generator, n: int, k: int, m: int, kind: str) -> Panel:
    """A calm panel."""
    return panel(likert(scores(g, n, k, m)) if kind == "Likert" else scores(g, n, k, m, kind))


def named(o: Off) -> set[tuple[str, str]]:
    """Cells that are named."""
    hit = o.frame[o.frame["named"].astype(bool)]
    return set(zip(hit["language"], hit["judge"], strict=True))


def sloped(o: Off) -> bool:
    """Whether slopes are said."""
    return any(f.key == "off.scale" for f in o.sentences)


def alarms(sizes: list[tuple[int, int, int]], kinds: tuple[str, ...], seed: int) -> Found:
    """Whether any cell is clear at matters 0 where nothing is planted."""
    out = []
    for n, k, m in sizes:
        for kind in kinds:
            o = off(any_noise(np.random.default_rng(seed), n, k, m, kind), matters=0)
            out.append((f"{n} x {k} x {m} {kind}", bool(o.frame["clear"].any())))
    return out


KINDS = ("normal", "exponential", "unequal", "Likert")


def o4(seed: int) -> Found:
    """Pass or fail."""
    k, m = 8, 6
    judges = np.linspace(0.5, 0.97, m)
    both = np.linspace(0.5, 0.93, m) + np.linspace(-0.03, 0.03, k)[:, None]
    rates = {
        "95%": np.full((k, m), 0.95),
        "judges 50 to 97%": np.tile(judges, (k, 1)),
        "judges and languages": both,
    }
    out = []
    for n in (20, 55):
        for what, p in rates.items():
            o = off(panel(passes(np.random.default_rng(seed), n, p)), matters=0)
            out.append((f"{n} tasks, {what}", bool(o.frame["clear"].any())))
    return out


def covered(p: Panel, truth: Array, one: bool = False) -> bool:
    """Whether the true off of cell means (k, m) lies in every interval."""
    o = off(p, matters=0)
    cells = excess(p.values().present)
    told = cells.told.ravel()
    true = (cells.contrasts @ truth.ravel())[told]
    frame = o.frame[told]
    low, high = ("low", "high") if one else ("all_low", "all_high")
    inside = (frame[low].to_numpy() <= true + 1e-9) & (true - 1e-9 <= frame[high].to_numpy())
    return bool((inside | frame["off"].isna().to_numpy()).all())


def o5(seed: int) -> Found:
    """Coverage with holes."""
    out = []
    for n in (15, 30):
        for k, m in ((3, 4), (8, 6)):
            for kind in KINDS[:3]:
                for holes in (0.1, 0.3):
                    g = np.random.default_rng(seed)
                    cells = g.normal(0, 4, (k, m))
                    y = scores(g, n, k, m, kind, cells)
                    y[g.random(y.shape) < holes] = np.nan
                    out.append((f"{n} x {k} x {m} {kind}, holes {holes:.0%}", covered(panel(y), cells)))
    return out


def o6(seed: int) -> Found:
    """Coverage with clusters of unequal size."""
    out = []
    for n in (60, 100):
        for number in (10, 20, 40):
            g = np.random.default_rng(seed)
            k, m = 8, 6
            cells = g.normal(0, 4, (k, m))
            extra = g.choice(number, n - number, p=np.arange(1, number + 1) / (number * (number + 1) / 2))
            unit = np.concatenate([np.arange(number), extra])
            own = g.normal(0, 3, (number, 1, k, m))[unit]
            p = panel(scores(g, n, k, m, "normal", cells + own), unit=unit, clustered=True)
            out.append((f"{n} tasks in {number} clusters", covered(p, cells)))
    return out


def o7(seed: int) -> Found:
    """Two by two."""
    out = []
    for n in (8, 20):
        for kind in KINDS[:2]:
            p = any_noise(np.random.default_rng(seed), n, 2, 2, kind)
            out.append((f"{n} {kind}", covered(p, np.zeros((2, 2)), one=True)))
    return out


def o8(seed: int) -> Found:
    """Languages that share no tasks."""
    out = []
    for m in (5, 4):
        for kind in KINDS[:2]:
            g = np.random.default_rng(seed)
            k, cells = 3, g.normal(0, 4, (3, m))
            size = g.integers(20, 61, k)
            y = scores(g, int(size.sum()), k, m, kind, cells)
            own = np.repeat(np.arange(k), size)
            y = np.where((np.arange(k) == own[:, None])[:, None, :, None], y, np.nan)
            out.append((f"{m} judges, {kind}", covered(panel(y), cells)))
    return out


def o9(seed: int) -> Found:
    """What is ruled out, with rare failures in one cell."""
    out = []
    for share in (0.01, 0.02, 0.05):
        g = np.random.default_rng(seed)
        y = scores(g, 60, 4, 4)
        y[g.random(60) < share, 0, 1, 1] -= 60
        o = off(panel(y))
        out.append((f"{share:.0%} fail", o.kind == "calm" and o.limit < 60 * share))
    return out


def n1(seed: int) -> Found:
    """One cell."""
    out = []
    for n in (8, 12, 55):
        for k, m in ((3, 4), (8, 6)):
            for kind in KINDS[:2]:
                g = np.random.default_rng(seed)
                y = scores(g, n, k, m, kind)
                x, b = int(g.integers(k)), int(g.integers(m))
                y[:, :, x, b] -= 15
                out.append((f"{n} x {k} x {m} {kind}", named(off(panel(y))) == {(f"l{x + 1}", f"J{b + 1}")}))
    return out


def n2(seed: int) -> Found:
    """Two cells."""
    out = []
    for n, k, m in ((55, 8, 6), (80, 4, 5)):
        for kind in KINDS[:3]:
            g = np.random.default_rng(seed)
            y = scores(g, n, k, m, kind)
            rows, columns = g.permutation(k)[:2], g.permutation(m)[:2]
            y[:, :, rows, columns] -= 15
            want = {(f"l{x + 1}", f"J{b + 1}") for x, b in zip(rows, columns, strict=True)}
            out.append((f"{n} x {k} x {m} {kind}", named(off(panel(y))) == want))
    return out


def n3(seed: int) -> Found:
    """Nothing is planted, and noise is skewed."""
    out = []
    for k, m in ((30, 12), (15, 8), (8, 6)):
        o = off(any_noise(np.random.default_rng(seed), 20, k, m, "exponential"), matters=0)
        out.append((f"20 x {k} x {m}", bool(named(o))))
    return out


def _two_languages(seed: int) -> tuple[Off, Panel]:
    g = np.random.default_rng(seed)
    y = scores(g, 60, 2, 4)
    y[:, :, int(g.integers(2)), 1] -= 12
    p = panel(y)
    return off(p), p


def n4(seed: int) -> Found:
    """Two languages: neither may be named."""
    o, p = _two_languages(seed)
    said = " ".join(f.text for f in o.sentences if f.topic == "Off")
    return [("60 x 2 x 4", o.kind == "named" or any(f"In {x}" in said for x in p.languages))]


def n5(seed: int) -> Found:
    """Two languages: the judge is said, and by how much."""
    o, _ = _two_languages(seed)
    row = o.frame[o.frame["judge"] == "J2"].iloc[0]
    size = sorted(abs(row[["all_low", "all_high"]].to_numpy(dtype=float)))
    return [("60 x 2 x 4", {b for _, b in named(o)} == {"J2"} and bool(size[0] <= 12 <= size[1]))]


def n6(seed: int) -> Found:
    """Many."""
    g = np.random.default_rng(seed)
    return [("55 x 8 x 6", off(panel(scores(g, 55, 8, 6, planted=g.normal(0, 5, (8, 6))))).kind == "many")]


def n7(seed: int) -> Found:
    """A judge off in half of its languages: no healthy language may be named."""
    g = np.random.default_rng(seed)
    y = scores(g, 60, 6, 5)
    half = g.permutation(6)[:3]
    y[:, :, half, 1] += 10
    sick = {f"l{x + 1}" for x in half}
    return [("60 x 6 x 5", bool({x for x, _ in named(off(panel(y)))} - sick))]


SLOPED = ((60, 5, 5), (40, 3, 3), (55, 8, 6))


def s1(seed: int) -> Found:
    """Judges that react differently."""
    out = []
    for n, k, m in SLOPED:
        g = np.random.default_rng(seed)
        level = g.normal(0, 12, (n, 1, 1, 1)) + g.normal(0, 3, (n, 1, k, 1)) + g.normal(0, 6, (k, 1))
        y = 50 + level * np.linspace(0.5, 1.5, m) + noise(g, (n, 1, k, m), "normal")
        out.append((f"{n} x {k} x {m}", sloped(off(panel(y)))))
    return out


def s2(seed: int) -> Found:
    """Other causes are not said to be slopes."""
    out = []
    for n, k, m in SLOPED:
        for what in ("nothing", "cell -12", "cells sd 5"):
            g = np.random.default_rng(seed)
            cells = g.normal(0, 5, (k, m)) if what == "cells sd 5" else np.zeros((k, m))
            cells[1, 1] -= 12 * (what == "cell -12")
            y = scores(g, n, k, m, planted=cells + g.normal(0, 6, (k, 1)))
            out.append((f"{n} x {k} x {m}, {what}", sloped(off(panel(y)))))
    return out


def s3(seed: int) -> Found:
    """A judge of pure noise, and pass or fail, have no slopes to speak of."""
    g = np.random.default_rng(seed)
    y = scores(g, 60, 5, 5, planted=g.normal(0, 6, (5, 1)))
    rough = y.copy()
    rough[..., 2] = 50 + g.normal(0, 14, y.shape[:3])
    two = (y > 40).astype(float)
    return [(what, sloped(off(panel(x)))) for what, x in (("noise judge", rough), ("pass or fail", two))]


def f1(seed: int) -> Found:
    """A language that is harder for all judges is no failing parser."""
    g = np.random.default_rng(seed)
    rates = np.full((5, 5), 0.9)
    rates[1] -= 0.2
    hard = np.zeros((5, 1))
    hard[1] = -20
    cases = {"pass or fail": passes(g, 60, rates), "Likert": likert(scores(g, 60, 5, 5, planted=hard))}
    out = []
    for what, y in cases.items():
        o = off(panel(y))
        out.append((what, any(f.key == "off.floor" for f in o.sentences)))
    return out


def a1(seed: int) -> Found:
    """Judges of pure noise are not said to agree with each other."""
    g = np.random.default_rng(seed)
    y = 50 + g.normal(0, 12, (60, 1, 3, 1)) + g.normal(0, 5, (60, 3, 3, 5))
    y[..., :2] += g.normal(0, 8, (60, 3, 3, 1)) + g.normal(0, 3, (1, 3, 1, 1))
    p = panel(y)
    a = agreement(p.scores, p.unit, p.weight)
    rough = {2, 3, 4}
    joined = any(len(rough & set(x)) > 0 for x in a.groups)
    apart = set(a.alone) | set(a.odd)
    return [("60 x 3 x 3 x 5", joined or (a.verdict == "agree" and not rough <= apart))]


CLAIMS: dict[str, Callable[[int], Found]] = {
    "O1": lambda seed: alarms([(8, 3, 4), (12, 3, 4), (30, 3, 4)], KINDS, seed),
    "O2": lambda seed: alarms([(20, 8, 6), (55, 8, 6)], KINDS, seed),
    "O3": lambda seed: alarms([(20, 30, 12)], KINDS, seed),
    "O4": o4,
    "O5": o5,
    "O6": o6,
    "O7": o7,
    "O8": o8,
    "O9": o9,
    "N1": n1,
    "N2": n2,
    "N3": n3,
    "N4": n4,
    "N5": n5,
    "N6": n6,
    "N7": n7,
    "S1": s1,
    "S2": s2,
    "S3": s3,
    "F1": f1,
    "A1": a1,
}
