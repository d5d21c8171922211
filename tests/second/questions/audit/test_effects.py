"""The shift that judges share, when one of them is broken; and what an audit says of a few tasks that carry a pair."""

from __future__ import annotations

import numpy as np

import polyjudge.second as pj
from polyjudge.second.questions.audit.variation import language_effect
from polyjudge.second.report.sections import find
from refusals import lacks


def panel(tasks: int = 60, broken: float = 0.0, shift: float = 0.0, seed: int = 1) -> pj.Panel:
    """Judges that agree but for one broken cell; the first language shifted for all."""
    interaction = np.zeros((5, 6))
    interaction[0, 0] = broken
    scores = pj.simulate_panel(
        tasks, 5, 6, seed=seed, interaction=interaction, language_sd=0.0, task_judge_sd=2, noise_sd=5
    )[0].scores
    scores = scores.copy()
    scores[:, 1] += shift
    return pj.Panel.from_array(scores)


def test_one_broken_cell_is_no_shared_shift() -> None:
    audit = pj.audit(panel(broken=-40.0), resamples=200)
    frame = audit.language_effect.set_index("language")
    assert frame.loc["language1", "high"] < 0  # by the mean
    assert abs(frame.loc["language1", "median"]) < 3
    assert frame["disagrees"].tolist() == [True, False, False, False, False]
    assert frame.loc["language1", "odd"] == "judge1"
    found = {f.code: f for f in audit.findings}
    assert found["shift-of-one-judge"].values["language"] == "language1"
    assert found["shift-of-one-judge"].values["odd"] == "judge1"
    assert found["shared-shift"].values.get("language") != "language1"


def test_a_shift_of_all_is_one_and_healthy_panels_agree() -> None:
    audit = pj.audit(panel(shift=12.0), resamples=200)
    found = {f.code: f for f in audit.findings}
    assert found["shared-shift"].values["language"] == "language2"
    assert "shift-of-one-judge" not in found
    wrong = [language_effect(panel(20, seed=s), 0.95, 0.5, 200, s)["disagrees"].any() for s in range(100)]
    assert np.mean(wrong) <= 0.1


def test_a_few_tasks_that_carry_a_judge_are_a_finding() -> None:
    scores = panel(60).scores.copy()
    scores[::20, :, 2] = 0.0  # three failed calls in every language
    audit = pj.audit(pj.Panel.from_array(scores), resamples=200)
    finding = next(f for f in audit.findings if f.code == "contaminated")
    assert finding.values["judge"] == "judge3"
    assert finding.values["count"] >= 2
    pair = find("notice", "contaminated", count=1, judge=None, judge_i="a", judge_j="b", carried=0.7)
    assert not lacks(pair.text, "a", "b", "70%")
    healthy = pj.audit(panel(60), resamples=200)
    assert "contaminated" not in [f.code for f in healthy.findings]
