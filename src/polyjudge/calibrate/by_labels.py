"""LabelCalibrator: correct a panel by labels of people, by a map of all languages and the need of each (METHODS 38).

A rising map takes the panel's mean to the labels. What the panel's mean in a language then lacks is its need; needs are
shrunk to each other as far as the labels do not tell them apart, so that the correction holds from two languages on.
How much of the language error that removes is stated with an interval, or why it cannot be told.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Self, Unpack

import numpy as np
from numpy.typing import NDArray

from polyjudge.base.errors import CalibratorError, UsageError
from polyjudge.base.numbers import percent, percent_ci
from polyjudge.base.options import ColumnsJudgesItems
from polyjudge.base.text import count, name, names, plural
from polyjudge.calibrate.labelled import Array, Labelled, answers, labelled, panel_mean
from polyjudge.calibrate.saved import Calibrator, numbers, one_of, texts
from polyjudge.panel import Panel
from polyjudge.read import read_panel
from polyjudge.report.model import Finding
from polyjudge.stats import needs as st
from polyjudge.stats.annotators import LanguageMeans, language_means
from polyjudge.stats.labels import Limits

if TYPE_CHECKING:
    import pandas as pd

Codes = NDArray[np.int64]
FEWEST = 10
"""Labels of a language below which nothing is said of what they remove."""
FIRST_LABELS, MORE_LABELS = 20, 30
"""Labels of each language to begin with, and how many more to ask for."""
MIN_DIFFERENT = 6
"""Labels (or two of each language) that must differ from the rest for a fall to be stated."""
MIN_NARROWING = 0.05
"""Share by which more labels or annotators must narrow the intervals for it to be advised."""

TOLD, FEW_LABELS, LABELS_ALIKE, RESIDUALS_ALIKE, CONFOUNDED, NOT_SURE = (
    "told", "few labels", "labels alike", "residuals alike", "confounded", "not sure",
)  # fmt: skip
"""Why the fall is stated, or why not."""


class _Answers(NamedTuple):
    """All answers of a panel, flat: what the panel says (on the labels' scale), its label (NaN), its language."""

    score: Array
    label: Array
    language: Codes

    @property
    def labelled(self) -> _Answers:
        """Those that have a label."""
        has_label = np.isfinite(self.label)
        return _Answers(self.score[has_label], self.label[has_label], self.language[has_label])


EMPTY, CARRY = "empty", "carry"
"""What languages without labels get: nothing, or the correction that is carried over from those with labels."""


class LabelCalibrator(Calibrator):
    """Corrects the mean of a panel by labels of people on some of its answers.

    `fit` takes a panel with labels (its own column, or a table); `transform` gives what people would say of every
    answer, on the scale of the labels; `removes_` is the share of the language error that this removes on the answers
    without labels, with its interval, or None where that cannot be told.

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
    known_: Codes
    need_: Array
    moved_: Array
    variance_: Array

    def __init__(
        self, shrink: bool = True, clip: bool = True, level: float = 0.95, seed: int = 0, unlabelled: str = EMPTY
    ) -> None:
        self.shrink = shrink
        self.clip = clip
        self.level = level
        self.seed = seed
        self.unlabelled = unlabelled

    def fit(self, panel: Any, labels: Any = None, **columns: Unpack[ColumnsJudgesItems]) -> Self:
        """Learn the map and the needs from the labels of a panel (None: its own column; else a table, or a file)."""
        panel = read_panel(panel, **columns)
        found = labels if isinstance(labels, Labelled) else labelled(panel, labels)
        self.languages_, self.noun_, self.scale_ = panel.languages, panel.noun, found.scale
        scores = panel_mean(panel)
        self.line_ = _lay_on_labels(panel, found, scores)
        scores = self.line_[0] + self.line_[1] * scores
        seen = np.isfinite(scores)
        language = np.broadcast_to(np.arange(len(panel.languages)), scores.shape)
        every = _Answers(scores[seen], found.y[seen], language[seen])
        some, k = every.labelled, len(self.languages_)
        self.n_ = np.bincount(some.language, minlength=k)
        self.known_ = np.flatnonzero(self.n_ > 0)
        self.x_, self.g_ = st.fit_map(some.score, some.label, some.language, k)
        self._fit_needs(every, found, scores)
        self._fit_offsets(every)
        return self

    def _fit_needs(self, every: _Answers, found: Labelled, scores: Array) -> None:
        """Needs of the labelled languages as seen, shrunk, and what moving by them removes."""
        k, some, known = len(self.languages_), every.labelled, self.known_
        n_answers = np.bincount(every.language, minlength=k)
        map_moves = _mean_by(self._map(every.score) - every.score, every.language, k)
        residual = some.label - self._map(some.score)
        width = float(np.ptp(every.score))
        noise = st.estimate_noise(residual, self._map(some.score), some.label, some.language, k, width)
        self.need_ = _mean_by(residual, some.language, k) + map_moves
        covariance = np.diag(noise.variance[known])
        label_error = float(np.sqrt(noise.variance[known].mean()))
        self.people_ = self._weigh_annotators(found, scores, st.fitted_factor(self._map(some.score)))
        if self.people_ is not None:
            self.need_[known] = self.people_.mean + map_moves[known]
            covariance = self.people_.covariance
        self.variance_ = np.full(k, np.nan)
        self.variance_[known] = np.diag(covariance)
        self.df_ = noise.df
        shrunk = st.shrink_needs(self.need_[known], map_moves[known], covariance, noise.df, label_error, self.seed)
        best = shrunk.mean if self.shrink and len(known) > 1 else self.need_[known]
        self.moved_ = np.full(k, float(best.mean()))
        self.moved_[known] = best
        n_unlabelled = np.maximum(n_answers - self.n_, 1)
        unlabelled_sd = np.sqrt(noise.variance * self.n_ / n_unlabelled)[known]
        generator = np.random.default_rng(self.seed)
        true_needs = shrunk.draws + unlabelled_sd * generator.normal(size=shrunk.draws.shape)
        self.removes_, self.why_ = self._state_fall(true_needs, best, noise, some)

    def _state_fall(
        self, true_needs: Array, best: Array, noise: st.LabelNoise, some: _Answers
    ) -> tuple[Limits | None, str]:
        """The share of the language error that goes, or None; and why."""
        n_known = len(self.known_)
        if n_known < 2 or self.n_[self.known_].min() < FEWEST:
            return None, FEW_LABELS
        if self.people_ is not None and self.people_.is_confounded:
            return None, CONFOUNDED
        enough = max(2 * n_known, MIN_DIFFERENT)
        if np.unique(some.label, return_counts=True)[1].max() > len(some.label) - enough:
            return None, LABELS_ALIKE
        if noise.n_different < enough:
            return None, RESIDUALS_ALIKE
        removes = st.removed_share(true_needs, best, self.level)
        return (removes, TOLD) if removes[1] > 0 else (None, NOT_SURE)

    def _weigh_annotators(self, found: Labelled, scores: Array, noise_factor: float) -> LanguageMeans | None:
        """Means of languages with annotators as a sample; None where labels are by one, or by people unknown."""
        if len(found.annotators) < 2 or "" in found.annotators:
            return None
        score = scores[found.row, found.system, found.language]
        has_score = np.isfinite(score)
        answer = np.ravel_multi_index((found.row, found.system), found.y.shape[:2])[has_score]
        difference = (found.label - self._map(score))[has_score]
        language = np.searchsorted(self.known_, found.language[has_score])
        who = np.unique(found.who[has_score], return_inverse=True)[1]
        return language_means(difference, answer, language, who, noise_factor)

    def _fit_offsets(self, every: _Answers) -> None:
        """What is subtracted from the map in each language, so that its mean is the panel's plus what it is moved."""
        mapped = self._map(every.score)
        scale = self.scale_ if self.clip else None
        self.shift_ = np.zeros(len(self.languages_))
        for i in range(len(self.languages_)):
            in_language = every.language == i
            if in_language.any():
                target = float(every.score[in_language].mean()) + self.moved_[i]
                self.shift_[i] = -st.offset_to_mean(mapped[in_language], target, scale)

    def move_to(self, panel: Panel, means: Array, is_compared: NDArray[np.bool_] | None = None) -> Self:
        """Move each language so that the mean of its corrected answers is this one; NaN leaves it where it is.

        is_compared : (languages, systems) whose answers have this mean, all unless said; others move with them
        """
        scores = self.line_[0] + self.line_[1] * panel_mean(panel)
        scale = self.scale_ if self.clip else None
        for place, mean in enumerate(means):
            there = scores[:, :, place] if is_compared is None else scores[:, is_compared[place], place]
            seen = there[np.isfinite(there)]
            if np.isfinite(mean) and len(seen):
                self.shift_[place] = -st.offset_to_mean(self._map(seen), float(mean), scale)
        return self

    def _map(self, score: Array) -> Array:
        return np.interp(score, self.x_, self.g_)

    def transform(self, x: Any, *, language: Any = None) -> Array:
        """What people would say. x : a panel, for (rows, systems, languages); or means of its judges, with `language`
        naming the language of each (not needed where there is one)."""
        self._fitted()
        if isinstance(x, Panel):
            return self._correct(panel_mean(x), self._places(x.languages))
        if language is None and len(self.languages_) > 1:
            raise UsageError(f"Name the {self.noun_} of each value: language=[...].")
        scores = np.asarray(x, dtype=float)
        given = np.asarray(self.languages_[0] if language is None else language, dtype=object)
        return self._correct(scores, self._places(np.broadcast_to(given, scores.shape)))

    def corrected(self, panel: Panel) -> pd.DataFrame:
        """Every answer of a panel: task, system, language, what the panel says, and what people would."""
        return answers(panel, panel=panel_mean(panel), corrected=self.transform(panel))

    def table(self) -> pd.DataFrame:
        """What is subtracted after the map: language, labelled (answers), subtract."""
        import pandas as pd

        rows = zip(self._fitted().languages_, self.n_, self.shift_, strict=True)
        return pd.DataFrame(rows, columns=["language", "labelled", "subtract"])

    def _places(self, languages: Any) -> Codes:
        import pandas as pd

        place = pd.Index(self.languages_).get_indexer(np.ravel(languages)).reshape(np.shape(languages))
        if (place < 0).any():
            raise CalibratorError(f"The calibrator has never seen {name(np.asarray(languages)[place < 0][0])}.")
        return np.asarray(place, dtype=np.int64)

    def _correct(self, scores: Array, place: Any) -> Array:
        corrected = self._map(self.line_[0] + self.line_[1] * scores) - self.shift_[place]
        if self.unlabelled != CARRY:
            corrected = np.where(self.n_[place] > 0, corrected, np.nan)
        corrected = np.where(np.isfinite(scores), corrected, np.nan)
        return np.clip(corrected, *self.scale_) if self.clip else corrected

    # --- sentences ---

    def findings(self) -> tuple[Finding, ...]:
        """What correcting by these labels does to the comparison of languages."""
        if len(self.languages_) < 2:
            text = f"The panel's mean is mapped to people's labels, by {count(int(self.n_.sum()), 'labelled answer')}."
            return (Finding("info", "humans.removes", text, "People"),)
        if self.removes_ is None:
            return (Finding("notice", "humans.removes", self._untold_sentence(), "People"),)
        among = plural(self.noun_)
        if len(self.known_) < len(self.languages_):
            among = f"these {among}"
        text = (
            f"Correcting by {self._labels_phrase()} removes {percent_ci(*self.removes_)} of the panel's squared error "
            f"between {among}."
        )
        return (Finding("info", "humans.removes", text, "People"),)

    def _labels_phrase(self) -> str:
        """How many labels there are: "20 to 34 labels per language", or "labels in de and fr"."""
        if len(self.known_) < len(self.languages_):
            return f"labels in {names([self.languages_[i] for i in self.known_])}"
        fewest, most = int(self.n_.min()), int(self.n_.max())
        number = f"{fewest}" if fewest == most else f"{fewest} to {most}"
        return f"{number} labels per {self.noun_}"

    def _untold_sentence(self) -> str:
        """Why it cannot be told what correcting removes, and what would tell it."""
        claim = f"Whether correcting by {self._labels_phrase()} helps to compare {plural(self.noun_)} cannot be told"
        if self.why_ == LABELS_ALIKE:
            return f"{claim}: nearly all labels are alike."
        if self.why_ == RESIDUALS_ALIKE:
            return f"{claim}: on nearly all labelled answers people and panel say the same."
        if self.why_ == CONFOUNDED:
            return (
                f"{claim}: each {self.noun_} has one annotator, so a strict annotator and a {self.noun_} of weak "
                f"answers look the same. Let one person label 20 answers in two {plural(self.noun_)}."
            )
        if advice := self._annotator_advice():
            return f"{claim} yet. {advice}"
        if self.ask_:
            return f"{claim} yet: label {self.ask_}{' more' * (self.ask_ > FIRST_LABELS)} per {self.noun_}."
        return f"{claim} yet."

    def _annotator_advice(self) -> str:
        """What more labels and what one more annotator would bring, where annotators make much of the error."""
        people = self.people_
        if people is None or self.n_[self.known_].min() < FIRST_LABELS:
            return ""
        labels, annotator = people.narrower_by_labels, people.narrower_by_annotator
        if annotator < MIN_NARROWING or annotator < labels:
            return ""
        who = "one more annotator"
        if people.is_crossed:
            who = f"one more annotator who labels in several {plural(self.noun_)}"
        return (
            f"{MORE_LABELS} more labels per {self.noun_} by the same people would narrow this by {percent(labels, 0)}, "
            f"{who} by {percent(annotator, 0)}."
        )

    @property
    def ask_(self) -> int:
        """Labels per language to ask for: 20 to begin with, then 30 more where more of them would tell the fall."""
        if self.why_ in (LABELS_ALIKE, RESIDUALS_ALIKE, CONFOUNDED):
            return 0
        fewest = int(self.n_.min())
        if fewest < FIRST_LABELS:
            return FIRST_LABELS
        return MORE_LABELS if fewest < 50 and self.removes_ is None else 0

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
        """The calibrator of these fields, each checked. Files of the version before are applied as they were fitted."""
        loaded = cls(
            one_of(data, "shrink", (True, False)), one_of(data, "clip", (True, False)), float(data["level"]),
            int(data["seed"]), one_of({"unlabelled": CARRY} | data, "unlabelled", (EMPTY, CARRY)),
        )  # fmt: skip
        loaded.languages_, loaded.noun_ = texts(data, "languages"), str(data["noun"])
        k, knots = len(loaded.languages_), len(data["scores"])
        loaded.scale_, loaded.line_ = tuple(numbers(data, "scale", (2,))), tuple(numbers(data, "line", (2,)))
        loaded.x_, loaded.g_ = numbers(data, "scores", (knots,)), numbers(data, "mapped", (knots,))
        loaded.shift_, loaded.n_ = numbers(data, "shift", (k,)), numbers(data, "labelled", (k,)).astype(int)
        loaded.removes_ = None if data["removes"] is None else tuple(numbers(data, "removes", (3,)).tolist())
        loaded.known_, loaded.people_ = np.flatnonzero(loaded.n_ > 0), None
        loaded.why_ = NOT_SURE if loaded.removes_ is None else TOLD
        if not knots or (np.diff(loaded.x_) <= 0).any() or (np.diff(loaded.g_) < 0).any():
            raise ValueError("its map does not rise")
        return loaded


def _mean_by(values: Array, language: Codes, k: int) -> Array:
    """Mean of the values of each language, 0 where it has none."""
    n = np.bincount(language, minlength=k)
    return np.asarray(np.bincount(language, values, k) / np.maximum(n, 1))


def _lay_on_labels(panel: Panel, found: Labelled, scores: Array) -> tuple[float, float]:
    """The straight line that lays what the panel says on the scale of the labels: intercept and slope."""
    if found.two_valued and panel.two_valued:
        return -panel.scale[0] / panel.width, 1 / panel.width
    if found.same:
        return 0.0, 1.0
    has_both = np.isfinite(scores) & np.isfinite(found.y)
    return _line(scores[has_both], found.y[has_both])


def _line(f: Array, y: Array) -> tuple[float, float]:
    """The straight line from scores to labels; where it would not rise, labels' spread over that of the scores."""
    spread = float(f.var())
    if spread <= 1e-12:
        return float(y.mean() - f.mean()), 1.0
    b = float(((f - f.mean()) * (y - y.mean())).mean()) / spread
    b = b if b > 0 else max(float(y.std()), 1e-9) / spread**0.5
    return float(y.mean()) - b * float(f.mean()), b
