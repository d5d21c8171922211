"""LabelCalibrator: correct a panel by labels of people, by a map of all languages and a shift of each (METHODS 22).

An isotonic map takes the panel's mean to the labels; what is then left on average in a language is its shift, shrunk to
the shifts of the other languages as far as they do not surely differ. How much of the language error that removes is
stated with an interval, or cannot be told.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from polyjudge.base.errors import CalibratorError, UsageError
from polyjudge.base.numbers import percent_ci
from polyjudge.base.text import count, name, names, plural
from polyjudge.calibrate.labelled import Array, Labelled, answers, labelled, panel_mean
from polyjudge.calibrate.saved import Calibrator, numbers, one_of, texts
from polyjudge.panel import Panel
from polyjudge.read import read_panel
from polyjudge.report.model import Finding
from polyjudge.stats.interval import moderate
from polyjudge.stats.labels import Limits, isotonic, severity

if TYPE_CHECKING:
    import pandas as pd

DRAWS = 4000
FEWEST = 20
"""Labels of a language below which nothing is said of what they remove: with ten the interval covers 82 to 97%."""


class LabelCalibrator(Calibrator):
    """Corrects the mean of a panel by labels of people on some of its answers.

    `fit` takes a panel with labels (its own column, or a table); `transform` gives what people would say of every
    answer, on the scale of the labels; `removes_` is the share of the language error that this removes on the answers
    without labels, with its interval.

    >>> import numpy as np
    >>> from polyjudge.panel import Panel
    >>> rng = np.random.default_rng(0)
    >>> truth = rng.normal(50, 10, (60, 1, 3, 1))
    >>> panel = Panel.from_array(truth + np.array([0, 8, -6])[:, None], scale=(0, 100))
    >>> import pandas as pd
    >>> some = enumerate(panel.tasks[:20])
    >>> rows = [(t, x, truth[i, 0, j, 0]) for i, t in some for j, x in enumerate(panel.languages)]
    >>> made = LabelCalibrator().fit(panel, pd.DataFrame(rows, columns=["task", "language", "label"]))
    >>> bool(np.ptp((made.transform(panel) - truth[..., 0]).mean((0, 1))) < 2)
    True
    """

    kind = "labels"
    known_: NDArray[np.int64]
    m_: Array
    centre_: float

    def __init__(self, shrink: bool = True, clip: bool = True, level: float = 0.95, seed: int = 0) -> None:
        self.shrink = shrink
        self.clip = clip
        self.level = level
        self.seed = seed

    def fit(self, panel: Any, labels: Any = None) -> Self:
        """Learn the map and the shifts from the labels of a panel (None: its own column; else a table, or a file)."""
        panel = read_panel(panel)
        found = labels if isinstance(labels, Labelled) else labelled(panel, labels)
        f = panel_mean(panel)
        at = np.isfinite(f) & np.isfinite(found.y)
        self.languages_, self.noun_, self.scale_ = panel.languages, panel.noun, found.scale
        # labels on another scale: what the panel says is first laid on theirs by a straight line
        if found.two_valued and panel.two_valued:
            self.line_ = (-panel.scale[0] / panel.width, 1 / panel.width)
        else:
            self.line_ = (0.0, 1.0) if found.same else _line(f[at], found.y[at])
        f = self.line_[0] + self.line_[1] * f
        language = np.broadcast_to(np.arange(len(panel.languages)), f.shape)
        self.x_, self.g_ = isotonic(f[at], found.y[at])
        self._shifts(np.interp(f[at], self.x_, self.g_) - found.y[at], language[at])
        single = f[found.row, found.system, found.language]
        self._annotators(np.interp(single, self.x_, self.g_) - found.label, found)
        seen = np.isfinite(f)
        k = len(self.languages_)
        n = np.bincount(language[seen], minlength=k)
        mapped = np.interp(f[seen], self.x_, self.g_)
        self.changed_ = np.bincount(language[seen], f[seen] - mapped, k) / np.maximum(n, 1)
        self.unlabelled_ = np.maximum(n - self.n_, 1)
        few = bool((self.n_ < np.minimum(FEWEST, n))[self.known_].any())
        self.removes_: Limits | None = None if few else self._removes()
        if len(self.known_) <= 2 and (self.removes_ is None or self.removes_[1] <= 0):
            self.b_ = 0.0  # with two languages nothing is shrunk: only what surely helps is taken off
        self.shift_ = self.centre_ + self.b_ * (self.m_ - self.centre_)
        return self

    def _shifts(self, rest: Array, language: NDArray[Any]) -> None:
        """Mean residual of each language, its error variance, and how far the shifts are shrunk to their mean."""
        k = len(self.languages_)
        self.n_ = np.bincount(language, minlength=k)
        self.b_ = 0.0
        self.known_ = np.flatnonzero(self.n_ > 0)
        m = np.bincount(language, rest, k) / np.maximum(self.n_, 1)
        self.centre_ = float(m[self.known_].mean())
        self.m_ = np.where(self.n_ > 0, m, self.centre_)
        squares = np.bincount(language, (rest - m[language]) ** 2, k)
        many = self.n_ > 1
        s2 = np.zeros(k)
        if many.any():
            df = (self.n_[many] - 1).astype(float)
            s2[many] = moderate(squares[many] / df, df).variance
            s2[~many] = s2[many].mean()
        self.s2_ = s2
        self.v_ = s2 / np.maximum(self.n_, 1)
        self.df_ = float(max(len(rest) - k, 1))

    def _annotators(self, d: Array, found: Labelled) -> None:
        """Where annotators differ more than answers, their variance is added; then the shrinkage of the shifts."""
        k, on = len(self.languages_), self.known_
        self.differ_ = False  # whether annotators make more of the error than the number of labels does
        if len(found.annotators) > 1 and np.isfinite(d).all():
            people = severity(d, found.language, found.who, found.row, k)
            more = float(np.nanmean(people.variance[on]) - self.v_[on].mean())
            self.differ_ = people.df > 0 and more > float(self.v_[on].mean())
            if people.df > 0 and more > 0:
                self.v_, self.df_ = self.v_ + more, float(max(people.df, 2))
        self.spread_ = float(((self.m_[on] - self.centre_) ** 2).sum())
        v = float(self.v_[on].mean())
        kept = max(0.0, 1 - max(len(on) - 3, 1) * v / max(self.spread_, 1e-300)) if self.shrink else 1.0
        self.b_ = kept if len(on) > 2 else 1.0

    def _removes(self) -> Limits | None:
        """Share of the squared language error that goes on the answers without labels: median, and its interval."""
        on, k = self.known_, len(self.known_)
        if k < 2 or self.n_[on].min() < 2 or self.spread_ <= 1e-18:
            return None
        rng = np.random.default_rng(self.seed)
        v = self.v_[on] * self.df_ / rng.chisquare(self.df_, DRAWS)[:, None]
        left = 1 - v.mean(1, keepdims=True) * rng.chisquare(k - 1, DRAWS)[:, None] / self.spread_ if k > 2 else 1.0
        share = np.clip(left, 0.0, 1.0)
        d = self.m_[on] - self.centre_
        e = share * d + np.sqrt(share * v) * rng.normal(size=(DRAWS, k))
        e = e + np.sqrt(self.s2_[on] / self.unlabelled_[on]) * rng.normal(size=(DRAWS, k))
        gone = 1 - (e - self.b_ * d).var(1) / np.maximum((e + self.changed_[on]).var(1), 1e-300)
        low, high = np.quantile(gone, [(1 - self.level) / 2, (1 + self.level) / 2])
        return float(np.median(gone)), float(low), float(high)

    def transform(self, x: Any, *, language: Any = None) -> Array:
        """What people would say. x : a panel, for (rows, systems, languages); or means of its judges, with `language`
        naming the language of each (not needed where there is one)."""
        self._fitted()
        if isinstance(x, Panel):
            return self._correct(panel_mean(x), self._places(x.languages))
        if language is None and len(self.languages_) > 1:
            raise UsageError(f"Name the {self.noun_} of each value: language=[...].")
        f = np.asarray(x, dtype=float)
        said = np.asarray(self.languages_[0] if language is None else language, dtype=object)
        return self._correct(f, self._places(np.broadcast_to(said, f.shape)))

    def corrected(self, panel: Panel) -> pd.DataFrame:
        """Every answer of a panel: task, system, language, what the panel says, and what people would."""
        return answers(panel, panel=panel_mean(panel), corrected=self.transform(panel))

    def table(self) -> pd.DataFrame:
        """What is subtracted after the map: language, labelled (answers), subtract."""
        import pandas as pd

        rows = zip(self._fitted().languages_, self.n_, self.shift_, strict=True)
        return pd.DataFrame(rows, columns=["language", "labelled", "subtract"])

    def _places(self, languages: Any) -> NDArray[np.int64]:
        import pandas as pd

        place = pd.Index(self.languages_).get_indexer(np.ravel(languages)).reshape(np.shape(languages))
        if (place < 0).any():
            raise CalibratorError(f"The calibrator has never seen {name(np.asarray(languages)[place < 0][0])}.")
        return np.asarray(place, dtype=np.int64)

    def _correct(self, f: Array, place: Any) -> Array:
        out = np.interp(self.line_[0] + self.line_[1] * f, self.x_, self.g_) - self.shift_[place]
        out = np.where(np.isfinite(f), out, np.nan)
        return np.clip(out, *self.scale_) if self.clip else out

    def findings(self) -> tuple[Finding, ...]:
        """What correcting by these labels does to the comparison of languages."""
        if len(self.languages_) < 2:
            text = f"The panel's mean is mapped to people's labels, by {count(int(self.n_.sum()), 'labelled answer')}."
            return (Finding("info", "humans.removes", text, "People"),)
        n, nouns = self.n_[self.known_], plural(self.noun_)
        each = f"{n.min()}{'' if n.min() == n.max() else f' to {n.max()}'} labels per {self.noun_}"
        if len(n) < len(self.languages_):
            each = f"labels in {names([self.languages_[i] for i in self.known_])}"
        if self.removes_ is not None and self.removes_[1] > 0:
            among = f"{nouns}" if len(n) == len(self.languages_) else f"these {nouns}"
            text = f"Correcting by {each} removes {percent_ci(*self.removes_)} of the panel's squared error between "
            return (Finding("info", "humans.removes", f"{text}{among}.", "People"),)
        text = f"Whether correcting by {each} helps to compare {nouns} cannot be told yet"
        more = f": label {self.ask_}{' more' * (self.ask_ > 20)} per {self.noun_}" if self.ask_ else ""
        more = f": annotators of one {self.noun_} differ too much" if self.differ_ and n.min() >= 20 else more
        return (Finding("notice", "humans.removes", f"{text}{more}.", "People"),)

    @property
    def ask_(self) -> int:
        """Labels per language to ask for: 20 to begin with, then 30 more where the stated fall cannot be told."""
        told, least = self.removes_ is not None and self.removes_[1] > 0, self.n_.min()
        return 20 if least < FEWEST else 30 if least < 50 and not told else 0

    # --- on disk ---

    def to_dict(self) -> dict[str, Any]:
        """All that `transform` needs, as plain values."""
        return {
            **self._fitted().get_params(),
            "languages": list(self.languages_),
            "noun": self.noun_,
            "scale": list(self.scale_),
            "line": list(self.line_),
            "scores": self.x_.tolist(),
            "mapped": self.g_.tolist(),
            "shift": self.shift_.tolist(),
            "labelled": self.n_.tolist(),
            "removes": None if self.removes_ is None else list(self.removes_),
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> LabelCalibrator:
        """The calibrator of these fields, each checked."""
        made = cls(
            one_of(data, "shrink", (True, False)), one_of(data, "clip", (True, False)), float(data["level"]),
            int(data["seed"]),
        )  # fmt: skip
        made.languages_, made.noun_ = texts(data, "languages"), str(data["noun"])
        k, knots = len(made.languages_), len(data["scores"])
        made.scale_, made.line_ = tuple(numbers(data, "scale", (2,))), tuple(numbers(data, "line", (2,)))
        made.x_, made.g_ = numbers(data, "scores", (knots,)), numbers(data, "mapped", (knots,))
        made.shift_, made.n_ = numbers(data, "shift", (k,)), numbers(data, "labelled", (k,)).astype(int)
        made.removes_ = None if data["removes"] is None else tuple(numbers(data, "removes", (3,)).tolist())
        if not knots or (np.diff(made.x_) <= 0).any() or (np.diff(made.g_) < 0).any():
            raise ValueError("its map does not rise")
        return made


def _line(f: Array, y: Array) -> tuple[float, float]:
    """The straight line from scores to labels; where it would not rise, labels' spread over that of the scores."""
    spread = float(f.var())
    if spread <= 1e-12:
        return float(y.mean() - f.mean()), 1.0
    b = float(((f - f.mean()) * (y - y.mean())).mean()) / spread
    b = b if b > 0 else max(float(y.std()), 1e-9) / spread**0.5
    return float(y.mean()) - b * float(f.mean()), b
