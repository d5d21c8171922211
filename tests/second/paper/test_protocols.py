"""The paper's protocols on the terminal: what they must say, and labels that cannot misbehave."""

from __future__ import annotations

from typing import Any

import polyjudge.second as pj
from polyjudge.second.paper import ablate, decisions, unseen_judge, unseen_language
from polyjudge.second.questions.compare.held_out import GAIN_SCOPE
from polyjudge.second.report import report_of, terminal


def printed(result: Any) -> str:
    report = report_of(result)
    assert report is not None
    return terminal.text(report, full=True)


def flat(text: str) -> str:
    return " ".join(text.split())


def test_every_other_protocol_prints_what_it_must_say() -> None:
    panel, _ = pj.simulate_panel(tasks=30, languages=3, judges=4, interaction=10, seed=1)
    unseen = unseen_language(panel, (0, 3), resamples=64)
    assert str(unseen.identity) in flat(printed(unseen))
    judge = flat(printed(unseen_judge(panel, (0, 3), resamples=64)))
    assert "consistency" in judge
    chosen = decisions(panel, resamples=64)
    assert str(chosen.target) in flat(printed(chosen))
    assert " right" not in flat(printed(chosen)).replace(str(chosen.target), "")  # the target is the model's own
    for by in ("judges", "tasks"):
        ablation = ablate(panel, by, resamples=20)  # type: ignore[arg-type]
        text = flat(printed(ablation))
        row = ablation.table.iloc[0]
        assert f"{row['raw']:.3f} [{row['raw_low']:.3f}, {row['raw_high']:.3f}]" in text
        assert str(GAIN_SCOPE) in text
        assert ablation.identity is None or str(ablation.identity) in text


def test_labels_cannot_misbehave() -> None:
    panel, _ = pj.simulate_panel(tasks=12, languages=["\x1b[31mred", "=1+1", "ok"], judges=["[bold]", "b", "c"], seed=1)
    for result in (decisions(panel, resamples=64), unseen_language(panel, (0,), resamples=64)):
        text = printed(result)
        assert "\x1b[31mred" not in text
        assert "\\x1b[31mred" in text
    assert "[bold]" in printed(unseen_judge(panel, (0,), resamples=64))
