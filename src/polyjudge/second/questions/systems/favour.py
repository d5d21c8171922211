"""Who favours whom: judge x system, system x language, and both together, with self-preference.

See docs/methods.md, section 17.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import stdtrit

from polyjudge.second.estimate.bands import band_critical
from polyjudge.second.estimate.covariance import require_systems
from polyjudge.second.estimate.incomplete import by_cluster
from polyjudge.second.estimate.kernels import double_centre, stream
from polyjudge.second.estimate.resample import check_level, check_resamples, in_groups, mean_and_se, mean_of_known, noise_gap
from polyjudge.second.panel.arrays import Array, mean_there
from polyjudge.second.panel.errors import PanelError
from polyjudge.second.panel.fill import fill_systems
from polyjudge.second.panel.labels import families as find_families
from polyjudge.second.panel.panel import Panel
from polyjudge.second.panel.records import long_table
from polyjudge.second.questions.systems.leaderboard import by_stratum, own_language
from polyjudge.second.report.result import Result
from polyjudge.second.report.sections import Finding

KINDS = ("judge:system", "system:language", "system:language:judge")
RARE = 0.05
"""A contrast is that of families where at most this share of relabellings makes one as large."""
RELABELLINGS = 1999


Units = tuple[Array, NDArray[np.int64]]
"""Weight and cluster of each task, (n,) and (n,)."""


class Contrast(Result):
    """Own-family cells less the others: positive where judges favour their own."""

    effect: float
    low: float
    high: float
    beyond: float | None
    """The same beyond what judges do who spread all systems more or less than others: a judge that tracks quality
    better favours good systems, its own or not. None where the two cannot be told apart."""
    beyond_low: float | None
    beyond_high: float | None
    own: int
    others: int
    p: float
    """Share of random assignments of the families to judges and systems with a contrast as large: judges with tastes of
    their own, and none for their family, make a contrast too."""
    judges: tuple[str, ...]
    """Judges with a system of their family."""
    separable: bool
    """Whether it can be told from one judge that tracks quality better: not with fewer than three judges."""

    @property
    def clear(self) -> bool:
        """Whether judges surely favour their own, and more than tastes that know no family would make it look."""
        return self.low > 0 and (self.beyond_low is None or self.beyond_low > 0) and self.p <= RARE


class Favour(Result):
    """Effects of who judges whom and where, in points beyond what judge, system and language do on their own.

    effects : kind, system, language, judge ("" where it is averaged over), effect, se, low, high (pointwise), band_low,
        band_high (all effects of a kind at once), clear
    families : name, role (judge, system), family
    """

    effects: pd.DataFrame
    families: pd.DataFrame
    self_preference: Contrast | None
    """None where no system has a judge of its family, or every pair of judge and system does."""
    level: float
    units: int
    resamples: int
    seed: int

    def largest(self, kind: str) -> dict[str, Any]:
        """The effect furthest from 0 of a kind."""
        rows = self.effects[self.effects["kind"] == kind]
        return _furthest(rows)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What a person should know, as data."""
        out = []
        for kind in KINDS:
            rows = self.effects[(self.effects["kind"] == kind) & self.effects["clear"]]
            if len(rows):
                worst = _furthest(rows)
                of = int((self.effects["kind"] == kind).sum())
                out.append(Finding(f"favour-{kind.replace(':', '-')}", {"count": len(rows), "of": of, **worst}, "info"))
        own = self.self_preference
        if own is not None and own.clear:
            values = {"effect": own.effect, "low": own.low, "high": own.high, "separable": own.separable, "p": own.p}
            out.append(Finding("favour-own-family", values, "warning" if own.separable else "notice"))
        return tuple(out)


def favour(
    panel: Panel,
    *,
    families: Mapping[str, str] | None = None,
    level: float = 0.95,
    resamples: int = 1000,
    seed: int = 7,
) -> Favour:
    """Who favours whom: doubly centred judge x system and system x language, triply centred system x language x judge.

    families : family of judges and systems by name; found from the names where not given, and shown

    >>> import numpy as np
    >>> from polyjudge.second import simulate_panel
    >>> likes = np.zeros((3, 4)); likes[0, 1] = 12
    >>> panel, _ = simulate_panel(tasks=60, languages=2, judges=4, systems=3, judge_system=likes, seed=1)
    >>> found = favour(panel).largest("judge:system")
    >>> found["system"], found["judge"]
    ('system1', 'judge2')
    """
    check_level(level)
    check_resamples(resamples)
    if len(panel.judges) < 2:
        raise PanelError("Who favours whom needs a second judge to compare with: this panel has one.")
    filled = fill_systems(require_systems(panel, "Who favours whom"), panel.weights)
    values, units = _effects(panel, filled)
    frames = [_table(panel, kind, value, units, level, resamples, seed) for kind, value in values.items()]
    quality = mean_of_known(mean_there(filled, (2, 3)) - mean_there(filled, (1, 2, 3))[:, None], panel)[0]
    of = {role: find_families(names, families) for role, names in (("judge", panel.judges), ("system", panel.systems))}
    shown = pd.DataFrame([(n, role, f) for role, found in of.items() for n, f in found.items()],
                         columns=["name", "role", "family"])  # fmt: skip
    kin = np.array([[of["system"][s] == of["judge"][j] for j in panel.judges] for s in panel.systems])
    return Favour(
        effects=pd.concat(frames, ignore_index=True),
        families=shown,
        self_preference=_contrast(panel, values[KINDS[0]], quality - quality.mean(), kin, units, level, seed),
        level=level,
        units=int(units[1].max()) + 1,
        resamples=resamples,
        seed=seed,
    )


def _effects(panel: Panel, filled: Array) -> tuple[dict[str, Array], Units]:
    """Of every task what each kind of effect is a mean of, and the weights and clusters of the tasks.

    Where languages share no tasks only judge and system can be compared inside a task; one language has no others.
    """
    if panel.apart:
        scores, language = own_language(filled)
        there = _some(np.isnan(scores).any(axis=(1, 2)))
        values, share = by_stratum(double_centre(scores[there]), panel.weights[there], language[there])
        return {KINDS[0]: values}, (share, np.unique(panel.cluster[there], return_inverse=True)[1])
    whole = _some(np.isnan(filled).any(axis=(1, 2, 3)))
    if not whole.all():  # tasks that lack an entry altogether cannot be centred
        filled = filled[whole]
    units = panel.weights[whole], np.unique(panel.cluster[whole], return_inverse=True)[1]
    out = {KINDS[0]: double_centre(filled.mean(axis=2))}
    if len(panel.languages) > 1:
        triple = filled
        for axis in (1, 2, 3):
            triple = triple - triple.mean(axis=axis, keepdims=True)
        out |= {KINDS[1]: double_centre(filled.mean(axis=3)), KINDS[2]: triple}
    return out, units


def _some(lacking: Any) -> NDArray[np.bool_]:
    """(n,): the tasks that lack nothing."""
    if np.all(lacking):
        raise PanelError("Who favours whom needs tasks that all judges scored, and there are none.")
    return np.asarray(~lacking)


def _furthest(rows: pd.DataFrame) -> dict[str, Any]:
    return {str(k): v for k, v in rows.iloc[int(rows["effect"].abs().to_numpy().argmax())].items()}


def _table(panel: Panel, kind: str, values: Array, of: Units, level: float, resamples: int, seed: int) -> pd.DataFrame:
    """Effects of one kind with a band over all of them, from values per task."""
    units, w = in_groups(*by_cluster(values.reshape(len(values), -1), *of))
    effect, se = mean_and_se(units, w)
    se = np.where(se <= noise_gap(panel), 0.0, se)
    critical, _ = band_critical(units.copy(), w, se == 0, level, resamples, seed)
    half, band = stdtrit(len(units) - 1, (1 + level) / 2) * se, critical * se
    axes = {"system": panel.systems, "language": panel.languages, "judge": panel.judges}
    return long_table(
        {"kind": [kind]} | {axis: labels if axis in kind.split(":") else [""] for axis, labels in axes.items()},
        effect=effect,
        se=se,
        low=effect - half,
        high=effect + half,
        band_low=effect - band,
        band_high=effect + band,
        clear=(np.abs(effect) > band) & (se > 0),
    )


def _contrast(
    panel: Panel, by_judge: Array, quality: Array, kin: NDArray[np.bool_], of: Units, level: float, seed: int
) -> Contrast | None:
    """Mean of the own-family cells less the mean of the others, per task."""
    if not kin.any() or kin.all():
        return None
    plain = by_judge[:, kin].mean(axis=1) - by_judge[:, ~kin].mean(axis=1)
    left = _beyond_slopes(quality, kin) if len(panel.judges) >= 3 else None
    values = [plain] if left is None else [plain, np.einsum("tsj,sj->t", by_judge, left)]
    mean, se = mean_and_se(np.stack(values, axis=1), *of)
    half = stdtrit(of[1].max(), (1 + level) / 2) * se
    low, high = (mean - half).tolist(), (mean + half).tolist()
    return Contrast(
        effect=float(mean[0]),
        low=low[0],
        high=high[0],
        beyond=None if left is None else float(mean[1]),
        beyond_low=None if left is None else low[1],
        beyond_high=None if left is None else high[1],
        own=int(kin.sum()),
        others=int((~kin).sum()),
        p=_relabelled(np.average(by_judge, axis=0, weights=of[0]), quality, kin, left is not None, seed),
        judges=tuple(j for j, own in zip(panel.judges, np.asarray(kin.any(axis=0)).tolist(), strict=True) if own),
        separable=left is not None,
    )


def _relabelled(effects: Array, quality: Array, kin: NDArray[np.bool_], beyond: bool, seed: int) -> float:
    """Share of relabellings whose contrast of the effects (s, m) is at least that of the families as they are."""

    def contrast(own: NDArray[np.bool_]) -> float:
        weights = _beyond_slopes(quality, own) if beyond else None
        if weights is not None:
            return float((effects * weights).sum())
        return float(effects[own].mean() - effects[~own].mean())

    rng = stream(seed, 0, "relabelling")
    s, m = kin.shape
    seen: dict[bytes, float] = {}
    count, now = 0, contrast(kin)
    for _ in range(RELABELLINGS):
        drawn = kin[rng.permutation(s)][:, rng.permutation(m)]
        key = drawn.tobytes()
        if key not in seen:
            seen[key] = contrast(drawn)
        count += seen[key] >= now - 1e-12 * abs(now)
    return (1 + count) / (1 + RELABELLINGS)


def _beyond_slopes(quality: Array, kin: NDArray[np.bool_]) -> Array | None:
    """(s, m) weights of a contrast that is 1 for a favour to all own-family cells and 0 for judges, systems, and judges
    that spread the systems' quality by more or less; None where these leave nothing of it."""
    s, m = kin.shape
    system, judge = np.divmod(np.arange(s * m), m)
    design = np.zeros((s * m, s + 2 * m))
    design[np.arange(s * m), system] = 1
    design[np.arange(s * m), s + judge] = 1
    design[np.arange(s * m), s + m + judge] = quality[system]
    own = kin.ravel().astype(np.float64)
    left = own - design @ np.linalg.lstsq(design, own, rcond=None)[0]
    size = float(left @ own)
    if size < 1e-6 * float(own @ own):
        return None
    out: Array = (left / size).reshape(s, m)
    return out
