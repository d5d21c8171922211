"""Consensus-based calibration (CBC): take off what a language does to a judge, without labels (METHODS 2, 3, 8, 14).

beta^ is the double centring of the cell means (Eq. 3); scores less beta^ are on one scale for all judges in every
language. A panel with holes has its cells from least squares (`Panel.values`); there beta^ is what the additive fit of
languages and judges leaves of each cell, the same on a complete panel.
"""

from __future__ import annotations

from copy import deepcopy
from dataclasses import replace
from numbers import Real
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from polyjudge.base.errors import CalibratorError, PanelError, UsageError
from polyjudge.base.text import count, name, names
from polyjudge.calibrate.baselines import Gain, shrinkage, unbiased_gain, weighted_centre
from polyjudge.calibrate.saved import Calibrator, numbers, one_of, plain, texts
from polyjudge.cbc import double_centre
from polyjudge.panel import Panel
from polyjudge.read import read_panel
from polyjudge.stats.cells import Values, additive_projection, mean_seen

if TYPE_CHECKING:
    import pandas as pd

Array = NDArray[np.float64]
Method = Literal["cbc", "cbc-weighted"]
AXES = ("tasks", "systems", "languages", "judges")
KEPT = 20_000
"""Numbers of the fit that a calibrator keeps, so that later scores can be compared with it (METHODS 21)."""


class ConsensusCalibrator(Calibrator):
    """Removes from every score the effect of its language on its judge: `fit` a panel, then `transform` scores.

    method : "cbc"; "cbc-weighted" weights judges by their steadiness over languages (the order within a language stays)
    shrink : keep only the share of the interaction that is not noise (empirical Bayes), for few tasks
    clip : cut calibrated scores to the scale. Without it the panel's mean stays exactly what it was

    Fitted: `beta_` (language x judge, what is subtracted; missing where it cannot be known), `se_`, `gain_` (I7, with
    its interval), `kept_` (share kept by `shrink`), `scale_`, `units_`, `fit_` (the values of the fit, or means of
    groups of them, as a panel).

    >>> panel = Panel.from_array([[[1, 2], [3, 8]], [[1, 2], [3, 8]]])
    >>> ConsensusCalibrator().fit(panel).transform(8, language="l2", judge="J2")
    7.0
    """

    kind = "consensus"
    beta_: pd.DataFrame
    se_: pd.DataFrame
    gain_: Gain
    kept_: float
    scale_: tuple[float, float]
    noun_: str
    units_: int
    tasks_: int
    criterion_: str
    fit_: Panel | None

    def __init__(self, method: Method = "cbc", shrink: bool = False, clip: bool = False) -> None:
        self.method: Method = method
        self.shrink = shrink
        self.clip = clip

    def fit(self, scores: Any, y: None = None, **columns: Any) -> Self:
        """Learn what to subtract from a panel, or from what `read_panel` takes, with the names of its columns."""
        import pandas as pd

        if self.method not in ("cbc", "cbc-weighted"):
            raise UsageError(f"The method is 'cbc' or 'cbc-weighted', not {self.method!r}.")
        panel = read_panel(scores, **columns)
        found = panel.values()
        v = found.v
        parts, known = interaction_parts(found)
        beta, self.kept_ = parts.mean(0), 1.0
        if self.method == "cbc-weighted":
            if not known.all():
                raise PanelError("The weighted method needs every judge in every language. Use the method 'cbc'.")
            beta = weighted_centre(v.mean(0), 1e-9 * panel.width)
        part = np.where(known, parts, 0.0)
        if self.shrink:
            self.kept_ = shrinkage(part)
            beta = beta * self.kept_
        index = pd.Index(panel.languages, name=panel.noun), pd.Index(panel.judges, name="judge")
        self.beta_ = pd.DataFrame(beta, *index)
        self.se_ = pd.DataFrame(parts.std(0, ddof=1) if len(v) > 1 else np.full(known.shape, np.nan), *index)
        self.se_ *= self.kept_ / np.sqrt(len(v))
        self.gain_ = unbiased_gain(part, 1e-9 * panel.width, self.kept_)
        self.scale_, self.noun_, self.units_, self.fit_ = panel.scale, panel.noun, len(v), _kept(panel, v)
        self.tasks_, self.criterion_ = round(float(panel.weight.sum())), panel.criterion
        return self

    @property
    def languages(self) -> tuple[str, ...]:
        """Languages that it knows."""
        return tuple(self._fitted().beta_.index)

    @property
    def judges(self) -> tuple[str, ...]:
        """Judges that it knows."""
        return tuple(self._fitted().beta_.columns)

    def transform(
        self, scores: Any, *, language: Any = None, judge: Any = None, unseen: Literal["error", "keep"] = "error"
    ) -> Any:
        """Calibrated scores, in the shape in which scores are given.

        A Panel gives a Panel, a frame (columns language, judge, score) the frame with one more column `calibrated`;
        a score or an array needs its language and judge, one or one for each score. Scores of a language and judge that
        were not fitted are an error, or stay as they are with unseen="keep".
        """
        if unseen not in ("error", "keep"):
            raise UsageError(f"unseen is 'error' or 'keep', not {unseen!r}.")
        if isinstance(scores, Panel):
            return self._panel(scores, unseen)
        if language is None and judge is None and hasattr(scores, "columns"):
            tongue = "language" if "language" in scores.columns else self._fitted().noun_
            if lacking := [c for c in (tongue, "judge", "score") if c not in scores.columns]:
                raise UsageError(f"The frame has no column {names(lacking)}. Rename it, or read it: read_panel(frame).")
            made = self.transform(scores["score"], language=scores[tongue], judge=scores["judge"], unseen=unseen)
            return scores.assign(calibrated=made)
        if language is None or judge is None:
            raise UsageError("A score needs its language and its judge: transform(71, language='de', judge='GPT-4o').")
        try:
            y = np.asarray(scores, dtype=float)
        except (TypeError, ValueError):
            raise PanelError(f"A score is a number, not {name(repr(scores))}.") from None
        if np.isinf(y).any():
            raise PanelError("A score is infinite.")
        made = self._less(y, self._amounts(language, judge, unseen))
        return float(made) if isinstance(scores, Real) else made

    def _amounts(self, language: Any, judge: Any, unseen: str, needed: Any = True) -> Array:
        """What is subtracted of scores of these languages and judges (broadcast); 0 where it is not known."""
        import pandas as pd

        table = self._fitted().beta_
        said = np.broadcast_arrays(*(np.asarray(x, dtype=object).astype(str) for x in (language, judge)))
        i, j = (ax.get_indexer(pd.Index(x.ravel())) for ax, x in zip((table.index, table.columns), said, strict=True))
        off = np.where((i < 0) | (j < 0), np.nan, table.to_numpy()[i, j]).reshape(said[0].shape)
        lost = np.argwhere(np.isnan(off) & needed)
        if len(lost) and unseen == "error":
            raise self._unseen(*(x[tuple(lost[0])] for x in said))
        return np.where(np.isnan(off), 0.0, off)

    def _less(self, scores: Array, off: Array) -> Array:
        return np.clip(scores - off, *self.scale_) if self.clip else scores - off

    def _unseen(self, language: str, judge: str) -> CalibratorError:
        new = [x for x, known in ((language, self.languages), (judge, self.judges)) if x not in known]
        said = f"has never seen {names(new)}" if new else f"knows nothing of {name(judge)} in {name(language)}"
        return CalibratorError(
            f"The calibrator {said}. It knows {names(self.judges, 8)} in {names(self.languages, 12)}. Fit it on scores "
            "with them, extend it by a few tasks scored in old and new (extend(scores); --extend FILE), or leave such "
            "scores as they are: unseen='keep' (--unseen keep)."
        )

    def _panel(self, panel: Panel, unseen: str) -> Panel:
        seen = np.isfinite(panel.scores).any((0, 1))
        off = self._amounts(np.array(panel.languages, dtype=object)[:, None], panel.judges, unseen, seen)
        again = None if panel.replicates is None else self._less(panel.replicates, off[..., None])
        made = self._less(panel.scores, off)
        return replace(panel, scores=made, replicates=again, indicator=None, two_valued=False)

    def table(self) -> pd.DataFrame:
        """What is subtracted: language, judge, subtract; pairs that cannot be calibrated are left out."""
        import pandas as pd

        b = self._fitted().beta_
        at = [(x, j) for x in b.index for j in b.columns]
        frame = pd.DataFrame(at, columns=["language", "judge"]).assign(subtract=b.to_numpy().ravel())
        return frame.dropna(ignore_index=True)

    def extend(self, scores: Any, **columns: Any) -> ConsensusCalibrator:
        """A calibrator that also knows new languages or judges, from a few tasks scored in old and new (METHODS 8).

        What was fitted does not change. A new language takes the mean over its tasks of its scores less those of the
        known languages, calibrated, centred over the judges, and shrunk by the share of it that is noise. A new judge
        likewise, with languages and judges exchanged.
        """
        panel = read_panel(scores, **columns)
        new = deepcopy(self._fitted())
        if self.method != "cbc":
            raise CalibratorError("Only a calibrator of the method 'cbc' can be extended. Fit it with method='cbc'.")
        languages = [x for x in panel.languages if x not in self.beta_.index]
        judges = [x for x in panel.judges if x not in self.beta_.columns]
        if not languages and not judges:
            raise CalibratorError("These scores have no language and no judge that the calibrator does not know.")
        for x in languages:
            _add(new, panel, x, by_judge=False)
        for x in judges:
            _add(new, panel, x, by_judge=True)
        return new

    def to_dict(self) -> dict[str, Any]:
        """Its fields as plain values."""
        f, fit = self._fitted().fit_, None
        if f is not None:
            fit = {x: list(getattr(f, x)) for x in AXES} | {"scores": plain(f.scores), "unit": f.unit.tolist()}
            fit |= {"grouped": f.source == GROUPED, "two_valued": f.two_valued}
        return {
            "method": self.method, "shrink": self.shrink, "clip": self.clip, "noun": self.noun_,
            "languages": list(self.languages), "judges": list(self.judges), "scale": list(self.scale_),
            "beta": plain(self.beta_.to_numpy()), "se": plain(self.se_.to_numpy()), "kept": self.kept_,
            "gain": plain(np.array(self.gain_)), "units": self.units_, "tasks": self.tasks_,
            "criterion": self.criterion_, "fit": fit,
        }  # fmt: skip

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """The calibrator of `to_dict`; ValueError, KeyError or TypeError where a field is not what it should be."""
        import pandas as pd

        bools = (True, False)
        out = cls(
            one_of(data, "method", ("cbc", "cbc-weighted")), one_of(data, "shrink", bools), one_of(data, "clip", bools)
        )
        languages, judges = texts(data, "languages"), texts(data, "judges")
        out.noun_ = str(data["noun"])
        index = pd.Index(languages, name=out.noun_), pd.Index(judges, name="judge")
        shape = len(languages), len(judges)
        out.beta_, out.se_ = (pd.DataFrame(numbers(data, x, shape, missing=True), *index) for x in ("beta", "se"))
        if (out.se_.to_numpy() < 0).any() or min(shape) == 0:
            raise ValueError("there is no cell, or a standard error is negative")
        low, high = numbers(data, "scale", (2,)).tolist()
        out.scale_, out.kept_ = (low, high), float(numbers(data, "kept", ()))
        if not low <= high or not 0 <= out.kept_ <= 1 or any(type(data[x]) is not int for x in ("units", "tasks")):
            raise ValueError("its scale, its share or its number of tasks is not one")
        out.gain_, out.units_ = Gain(*numbers(data, "gain", (3,), missing=True).tolist()), max(data["units"], 1)
        out.tasks_, out.criterion_ = max(data["tasks"], 1), str(data["criterion"])
        out.fit_ = None if data["fit"] is None else _fit_of(data["fit"], (low, high), out.noun_)
        return out


def interaction_parts(values: Values) -> tuple[Array, NDArray[np.bool_]]:
    """What each unit adds to beta^, (U, k, m), and which cells of it are known (k, m); NaN where they are not.

    Where cells were never seen, what the additive fit of languages and judges to the others leaves of each (Eq. 3 on
    a whole grid). A cell is known where neither that fit nor the holes of the panel decide its value alone.
    """
    present = values.present
    if min(present.shape) < 2:
        return np.zeros_like(values.v), present
    if present.all() and not values.null.size:
        return double_centre(values.v), present
    flat = present.ravel()
    fit = additive_projection(present)
    contrasts = np.zeros((flat.size, flat.size))
    contrasts[np.ix_(flat, flat)] = np.eye(len(fit)) - fit
    contrasts[np.diag(contrasts) < 1e-8] = np.nan  # never seen, or fitted by its own value alone
    parts = values.contrast(np.nan_to_num(contrasts))
    parts[:, np.isnan(contrasts[:, 0])] = np.nan
    known: NDArray[np.bool_] = np.asarray(np.isfinite(parts).all(0))
    return parts.reshape(values.v.shape), known.reshape(present.shape)


def _add(new: ConsensusCalibrator, panel: Panel, label: str, by_judge: bool) -> None:
    """Put one new language, or judge, into a calibrator."""
    noun, other = ("judge", panel.noun) if by_judge else (panel.noun, "judge")
    beta, se, y = new.beta_, new.se_, panel.scores.mean(1)
    mine, across = (panel.judges, panel.languages) if by_judge else (panel.languages, panel.judges)
    if by_judge:
        beta, se, y = beta.T, se.T, y.transpose(0, 2, 1)
    own = y[:, mine.index(label)]
    less = y - beta.reindex(index=mine, columns=across).to_numpy()
    known = np.isfinite(less).any((0, 1)) & np.isfinite(own).any(0)
    if known.sum() < 2:
        raise CalibratorError(
            f"{name(label)} cannot be added. Give scores of some tasks in it and in a {noun} that the calibrator "
            f"knows, by at least two {other}s that it knows."
        )
    less, own = less[:, :, known], own[:, known]
    less[~np.isfinite(less).all(2)] = np.nan
    d = own - mean_seen(less, 1)
    d = d[np.isfinite(d).all(1)]
    if len(d) < 2:
        raise CalibratorError(
            f"{name(label)} cannot be added: {count(len(d), 'task')} compare it with a known {noun}, and at least two "
            "are needed. Score more tasks in both."
        )
    d = d - d.mean(1, keepdims=True)
    beta.loc[label], se.loc[label] = np.nan, np.nan
    cols = [x for x, there in zip(across, known, strict=True) if there]
    beta.loc[label, cols], se.loc[label, cols] = shrinkage(d) * d.mean(0), d.std(0, ddof=1) / np.sqrt(len(d))
    new.beta_, new.se_ = (beta.T, se.T) if by_judge else (beta, se)


GROUPED = "means of groups of tasks"


def _kept(panel: Panel, v: Array) -> Panel | None:
    """The panel of the fit without what is not needed to compare it: its scores, or means of groups of its units."""
    more: dict[str, Any] = {"languages": panel.languages, "judges": panel.judges, "scale": panel.scale}
    more["noun"] = panel.noun
    if panel.scores.size <= KEPT and bool((panel.weight == 1).all()):
        more |= {"tasks": panel.tasks, "systems": panel.systems, "unit": panel.unit, "two_valued": panel.two_valued}
        return Panel.from_array(panel.scores, clustered=panel.clustered, source=panel.source, **more)
    units, k, m = v.shape
    groups = min(units, KEPT // (k * m))
    if groups < 6:
        return None
    at = np.arange(units) % groups
    total = np.zeros((groups, k, m))
    np.add.at(total, at, v)
    # a group that holds more units has a mean as good as any: all count alike, their mean is kept where it was
    mean = total / np.bincount(at).reshape(-1, 1, 1)
    mean += v.mean(0) - mean.mean(0)
    return Panel.from_array(mean, two_valued=False, source=GROUPED, **more)


def _fit_of(data: dict[str, Any], scale: tuple[float, float], noun: str) -> Panel:
    tasks, systems, languages, judges = axes = [texts(data, x) for x in AXES]
    scores = numbers(data, "scores", tuple(map(len, axes)), missing=True)
    unit = np.asarray(data["unit"])
    if unit.shape != (len(scores),) or unit.dtype.kind != "i" or (unit < 0).any():
        raise ValueError("the units of the fit are not one for each task")
    grouped, two = one_of(data, "grouped", (True, False)), one_of(data, "two_valued", (True, False))
    more: dict[str, Any] = {"scale": scale, "unit": unit, "noun": noun, "two_valued": two}
    return Panel(scores, tasks, languages, judges, systems, source=GROUPED if grouped else "", **more)


def taken_off(panel: Panel, error: Array, se: Array) -> tuple[tuple[float, float, float], int]:
    """Share of single judges' squared error between languages that calibrating takes off, by the panel's error in each
    language against people and its standard error; and how many judges come nearer to people (METHODS 13)."""
    beta, k = double_centre(panel.values().mean), len(error)
    e = error - error.mean()
    draws = ((e + se * np.random.default_rng(0).normal(size=(2000, k))) ** 2).sum(1) - 2 * (se**2).sum() * (1 - 1 / k)
    size = float((beta**2).sum())
    many = beta.shape[1] * np.maximum(np.quantile(draws, [0.5, 0.975, 0.025]), 0.0)
    share, low, high = (size / (size + float(x)) for x in many)
    return (share, low, high), int(((beta**2 + 2 * e[:, None] * beta).sum(0) > 0).sum())
