"""Panels whose truth is known: for the demo, for tests, and for trying what a panel of your size can tell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from polyjudge.base.errors import UsageError
from polyjudge.cbc import double_centre, off_factor
from polyjudge.panel import Array, Panel
from polyjudge.sample_texts import NOT_IN_ENGLISH, answer, question, reason

if TYPE_CHECKING:
    import pandas as pd

LANGUAGES = ("English", "German", "Hindi", "Japanese", "Spanish", "Swahili")
JUDGES = ("Aster", "Borealis", "Cobalt", "Dahlia", "Ember", "Fjord")
SYSTEMS = ("delta", "alpha", "bravo", "charlie", "echo", "foxtrot")


class Simulated(NamedTuple):
    """A panel and what was planted in it.

    interaction : (languages, judges), each row and column with mean 0: what calibrating should take off
    off : (languages, judges) the same as `audit` shows it: a judge's gap to the others, against the other languages
    systems : mean quality of each system
    answers : (tasks, systems, languages) true quality of each answer, as people would score it
    """

    panel: Panel
    interaction: Array
    off: Array
    systems: Array
    answers: Array


def simulate_panel(
    *,
    tasks: int = 60,
    systems: int | Sequence[float] = (71.0, 66.0, 65.4, 58.0),
    languages: int = 6,
    judges: int = 5,
    noise: float = 6.0,
    interaction: float = 0.5,
    cells: Mapping[tuple[int, int], float] | None = None,
    missing: float = 0.0,
    levels: Sequence[float] | None = None,
    seed: int = 0,
) -> Simulated:
    """A panel with planted truth.

    score = task (sd 10) + task:language (sd 3) + task:system (sd 5) + system + judge (sd 4) + language (sd 3)
    + interaction + noise, rounded and kept between 0 and 100.

    systems : the mean quality of each, or their number (steps of 4 points)
    interaction : sd of what language does to every judge; cells : (language, judge) -> more of it, in points
    missing : share of scores that are missing at random
    levels : scores are put to the nearest of these, such as (1, 2, 3, 4, 5)

    >>> simulate_panel(tasks=10, seed=1).panel.shape
    (10, 4, 6, 5)
    """
    quality = np.array(systems if isinstance(systems, Sequence) else [70.0 - 4.0 * i for i in range(systems)])
    if min(tasks, len(quality), languages, judges) < 1 or not 0 <= missing < 1 or noise < 0 or interaction < 0:
        raise UsageError("A simulated panel has at least one task, system, language and judge; noise is not negative.")
    g = np.random.default_rng(seed)
    n, s, k, m = tasks, len(quality), languages, judges
    beta = g.normal(0, interaction, (k, m)) if interaction else np.zeros((k, m))
    for (language, judge), size in (cells or {}).items():
        beta[language, judge] += size
    answers = (
        quality[:, None, None]
        + g.normal(0, 10, (n, 1, 1, 1))
        + g.normal(0, 3, (n, 1, k, 1))
        + g.normal(0, 5, (n, s, 1, 1))
    )
    y = answers + g.normal(0, 3, (k, 1)) + g.normal(0, 4, m) + beta + g.normal(0, noise, (n, s, k, m))
    if levels is None:
        y = np.clip(np.round(y), 0, 100)
        scale = (0.0, 100.0)
    else:
        steps = np.sort(np.asarray(levels, dtype=float))
        place = np.clip((y - 30) / 70 * (len(steps) - 1), 0, len(steps) - 1)
        y = steps[np.round(place).astype(int)]
        scale = (float(steps[0]), float(steps[-1]))
    if missing:
        y = np.where(g.random(y.shape) < missing, np.nan, y)
    centred = double_centre(beta) if min(k, m) > 1 else np.zeros((k, m))
    panel = Panel.from_array(
        y,
        systems=_called(SYSTEMS, s, "system"),
        languages=_called(LANGUAGES, k, "language"),
        judges=_called(JUDGES, m, "judge"),
        scale=scale,
    )
    off = centred * off_factor(k, m) if min(k, m) > 1 else centred
    return Simulated(panel, centred, off, quality, answers[..., 0])


def _called(names: Sequence[str], number: int, what: str) -> tuple[str, ...]:
    return tuple(names[:number]) if number <= len(names) else tuple(f"{what}{i + 1}" for i in range(number))


def sample() -> Simulated:
    """The panel of the demo: four systems, two of them close, and Aster 15 points off in Spanish."""
    return simulate_panel(cells={(4, 0): -15.0}, seed=7)


def sample_panel() -> Panel:
    """The panel of the demo: 60 tasks, 4 systems, 6 languages, 5 judges.

    >>> sample_panel().judges
    ('Aster', 'Borealis', 'Cobalt', 'Dahlia', 'Ember')
    """
    panel = sample().panel
    return replace(panel, source="scores.csv", texts=SampleTexts(panel))


LABELLED = 40
"""Answers in each language that people labelled in the sample."""


def sample_labels() -> pd.DataFrame:
    """People's labels of the sample: in each language some answers, each by one of two annotators who read them all."""
    import pandas as pd

    planted = sample()
    panel, rng = planted.panel, np.random.default_rng(11)
    n, n_systems, n_languages = planted.answers.shape
    parts = []
    for language in range(n_languages):
        drawn = np.sort(rng.choice(n * n_systems, LABELLED, replace=False))
        task, system = np.divmod(drawn, n_systems)
        label = planted.answers[task, system, language] + rng.normal(0, 6, LABELLED)
        part = {
            "task": [panel.tasks[t] for t in task],
            "system": [panel.systems[s] for s in system],
            "language": panel.languages[language],
            "annotator": np.where(np.arange(LABELLED) % 2, "Noor", "Tomas"),
            "label": np.clip(np.round(label), 0, 100),
        }
        parts.append(pd.DataFrame(part))
    return pd.concat(parts, ignore_index=True)


def sample_next_week() -> pd.DataFrame:
    """The same tasks scored again, as a long table: one judge has changed in one language."""
    panel, rng = sample().panel, np.random.default_rng(12)
    language, judge = panel.languages.index("German"), panel.judges.index("Ember")
    again = panel.scores + rng.normal(0, 2, panel.scores.shape)
    again[:, :, language, judge] += 6
    return replace(panel, scores=np.clip(np.round(again), 0, 100)).to_frame()


@dataclass(frozen=True)
class SampleTexts:
    """Texts of tasks of the sample."""

    panel: Panel

    def __call__(self, tasks: Sequence[str]) -> pd.DataFrame:
        """Prompts, responses and reasons of these tasks."""
        frame = _texts(self.panel)
        return frame[frame["task"].isin(list(tasks))]


def sample_frame() -> pd.DataFrame:
    """The same as a long table, with short texts as an eval tool would write them."""
    return _texts(sample().panel)


OFF_JUDGE, OFF_LANGUAGE = "Aster", "Spanish"
RIGHT_FROM = 62.0
"""Mean score from which an answer of the sample is right."""


def _texts(panel: Panel) -> pd.DataFrame:
    """Scores with prompts and responses in their language, and reasons that show why a judge is off."""
    frame = panel.to_frame()
    task = frame["task"].str[1:].astype(int) - 1
    is_right = frame.groupby(["task", "system"])["score"].transform("mean") >= RIGHT_FROM
    frame["prompt"] = [question(t, x) for t, x in zip(task, frame["language"], strict=True)]
    frame["response"] = [answer(t, x, right) for t, x, right in zip(task, frame["language"], is_right, strict=True)]
    is_off = (frame["judge"] == OFF_JUDGE) & (frame["language"] == OFF_LANGUAGE)
    reasons = [reason(score, right) for score, right in zip(frame["score"], is_right, strict=True)]
    frame["reason"] = np.where(is_off, NOT_IN_ENGLISH, reasons)
    return frame
