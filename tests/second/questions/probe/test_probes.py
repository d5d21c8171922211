"""Reading probes: reactions, false reactions, and what they say of an interaction."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import polyjudge.second as pj
from polyjudge.second.questions.probe.reaction import probe, versions
from polyjudge.second.report import report_of
from refusals import refused

VERSIONS = ("clean", "damage-1", "damage-2", "damage-3", "placebo-1", "placebo-2")
STEP = np.array([0.0, 1.0, 2.0, 3.0, 0.0, 0.0])[:, None, None]


def panels(
    sees: np.ndarray, shift: np.ndarray | float = 0.0, false: np.ndarray | float = 0.0, seed: int = 0, tasks: int = 30
) -> tuple[pj.Panel, pj.Panel]:
    """Probes of 30 tasks and an audited panel of 60: the reaction is 8 points a step times `sees` (k, m)."""
    rng = np.random.default_rng(seed)
    k, m = sees.shape
    placebo = np.array([0, 0, 0, 0, 1, 1])[:, None, None]
    quality = rng.normal(0, 10, (tasks, 1, 1, 1))
    scores = 60 + quality - 8 * STEP * sees + shift + placebo * false + rng.normal(0, 8, (tasks, 6, k, m))
    audited = 60 + shift + rng.normal(0, 10, (60, 1, 1)) + rng.normal(0, 8, (60, k, m))
    options = {"declared_range": (0.0, 100.0)}
    return pj.Panel.from_array(scores, systems=VERSIONS, **options), pj.Panel.from_array(audited, **options)


def cell(k: int, m: int, value: float, fill: float = 0.0) -> np.ndarray:
    out = np.full((k, m), fill)
    out[0, 0] = value
    return out


def test_reaction_is_the_fall_for_each_step() -> None:
    result = probe(panels(np.ones((3, 4)), tasks=400)[0])
    assert result.cells["reaction"].to_numpy() == pytest.approx(np.full(12, 8.0), abs=0.8)
    assert (result.cells["reaction_low"] < 8).mean() > 0.8
    assert (result.cells["sensitivity"] > 0.8).all()
    assert (result.cells["sight"] == "sees").all()
    assert result.severities == (1, 2, 3)
    assert result.placebos == 2


@pytest.mark.parametrize(
    ("sees", "verdict"),
    [
        (np.ones((4, 5)), "severity"),
        (cell(4, 5, 0.0, 1.0), "blind"),
        (np.vstack([np.array([1.0, 0, 0, 0, 0]), np.ones((3, 5))]), "competence"),
    ],
)
def test_what_explains_a_large_interaction(sees: np.ndarray, verdict: str) -> None:
    probes, audited = panels(sees, cell(4, 5, -25.0))
    cells = probe(probes, audit=audited).cells
    assert cells.iloc[0]["verdict"] == verdict
    assert bool(cells.iloc[0]["large"])


def test_small_interactions_get_no_verdict() -> None:
    probes, audited = panels(np.ones((3, 4)))
    assert set(probe(probes, audit=audited, matters=10.0).cells["verdict"]) == {""}


def test_a_judge_that_form_alone_moves_is_named() -> None:
    false = np.zeros((3, 4))
    false[:, 1] = 10.0
    result = probe(panels(np.ones((3, 4)), false=false)[0])
    named = result.judges[result.judges["false"]]
    assert list(named["judge"]) == ["judge2"]
    assert named["false_reaction"].iloc[0] == pytest.approx(10.0, abs=2.0)
    assert [f.values["judge"] for f in result.findings if f.code == "probe-false-reaction"] == ["judge2"]


def test_nobody_reacts() -> None:
    result = probe(panels(np.zeros((3, 4)), tasks=200)[0])
    assert not (result.cells["sight"] == "sees").any()
    assert result.findings[0].code == "probe-no-reaction"


def test_missing_answers_are_left_out() -> None:
    probes, _ = panels(np.ones((3, 4)), tasks=60)
    scores = np.array(probes.system_scores)
    scores[::5, 2, 0, 0] = np.nan
    holed = pj.Panel.from_array(scores, systems=VERSIONS, declared_range=(0.0, 100.0))
    assert probe(holed).cells["reaction"].iloc[0] == pytest.approx(8.0, abs=2.0)


def test_versions_are_told_by_their_names() -> None:
    clean, severity, placebos, helps = versions(
        ("placebo-list", "clean", "damage-2-drop", "damage-1", "padding", "Plea-own")
    )
    assert clean == 1
    assert severity.tolist() == [-1, 0, 2, 1, -1, -1]
    assert placebos == [0]
    assert helps == {4: "padding", 5: "plea-own"}


@pytest.mark.statistical
def test_of_many_blind_cells_none_seems_to_see() -> None:
    """One judge of four sees: with 5% for all cells together at most 8 of 80 panels call a blind one seeing."""
    sees = np.tile([1.0, 0.0, 0.0, 0.0], (6, 1))
    found = [probe(panels(sees, seed=seed)[0]).cells for seed in range(80)]
    blind = [c[c["judge"] != "judge1"]["sight"] for c in found]
    assert sum((s == "sees").any() for s in blind) <= 8
    assert np.mean([(s == "blind").mean() for s in blind]) > 0.9
    assert np.mean([(c[c["judge"] == "judge1"]["sight"] == "sees").mean() for c in found]) > 0.95


@pytest.mark.statistical
def test_a_lenient_judge_at_the_ceiling_is_not_called_blind() -> None:
    blind = 0
    for seed in range(40):
        probes, _ = panels(np.ones((3, 4)), np.array([0.0, 0, 0, 55.0]), seed=seed)
        cut = np.clip(np.array(probes.system_scores), 0, 100)
        result = probe(pj.Panel.from_array(cut, systems=VERSIONS, declared_range=(0.0, 100.0)))
        lenient = result.cells[result.cells["judge"] == "judge4"]
        assert (lenient["at_end"] > 0.5).all()
        blind += int((lenient["sight"] == "blind").any())
    assert blind == 0


def test_one_language_or_one_judge_has_no_interaction_but_reactions() -> None:
    probes, _ = panels(np.ones((3, 4)), tasks=60)
    for part in (probes.select(languages=probes.languages[:1]), probes.select(judges=probes.judges[:1])):
        result = probe(part)
        assert (result.cells["sight"] == "sees").all()
        assert result.cells["interaction"].isna().all()
        assert "probe" in str(report_of(result).command)  # type: ignore[union-attr]


def helped(rise: np.ndarray, seed: int = 0) -> pj.Panel:
    """Probes with a plea in two languages and padding; the first plea adds `rise` (k, m)."""
    rng = np.random.default_rng(seed)
    probes, _ = panels(np.ones(rise.shape), seed=seed)
    scores = np.array(probes.system_scores)
    clean = scores[:, :1]
    more = np.concatenate([clean, clean, clean], axis=1) + rng.normal(0, 6, (30, 3, *rise.shape))
    more[:, 0] += rise
    names = (*VERSIONS, "plea-own", "plea-english", "padding")
    return pj.Panel.from_array(np.concatenate([scores, more], axis=1), systems=names, declared_range=(0.0, 100.0))


def test_a_plea_that_helps_is_named_with_judge_and_language() -> None:
    rise = np.zeros((3, 4))
    rise[1, 2] = 12.0
    result = probe(helped(rise))
    table = result.susceptibility.set_index(["kind", "language", "judge"])
    assert len(table) == 3 * 4 * 4
    row = table.loc[("plea-own", "language2", "judge3")]
    assert row["rise_low"] < 12 < row["rise_high"]
    assert bool(row["rises"])
    assert table.loc[("plea-own", "(all)", "judge3"), "rise"] == pytest.approx(4.0, abs=2.0)
    named = [f for f in result.findings if f.code in ("probe-plea", "probe-padding")]
    assert [(f.code, f.values["judge"], f.values["languages"]) for f in named] == [
        ("probe-plea", "judge3", ["language2"])
    ]
    _, audited = panels(np.ones((3, 4)))
    found = pj.audit(audited, probes=helped(rise), resamples=100)
    assert [f.values["judge"] for f in found.findings if f.code == "probe-plea"] == ["judge3"]


@pytest.mark.statistical
def test_pleas_that_do_nothing_are_seldom_said_to_help() -> None:
    said = sum(bool(probe(helped(np.zeros((3, 4)), seed)).susceptibility["rises"].any()) for seed in range(60))
    assert said <= 7  # 5% of 60 is 3, plus two and a half standard deviations


@pytest.mark.parametrize("systems", [("clean", "better"), ("damage-1", "damage-2"), ("clean", "placebo-1")])
def test_other_systems_are_refused(systems: tuple[str, ...]) -> None:
    panel = pj.Panel.from_array(np.random.default_rng(0).normal(size=(5, 2, 2, 2)), systems=systems)
    with refused(pj.PanelError, "damage-1", "polyjudge probe make"):
        probe(panel)


def test_without_systems_there_are_no_probes() -> None:
    with refused(pj.PanelError, "system=..."):
        probe(pj.simulate_panel(5, 2, 2, seed=1)[0])


def test_an_audit_with_probes_follows_them() -> None:
    """The same deviation is to be calibrated when it is severity, left out when blind, kept when competence."""
    for sees, code, kept in (
        (np.ones((4, 5)), "severity", True),
        (cell(4, 5, 0.0, 1.0), "blind", False),
        (np.vstack([np.array([1.0, 0, 0, 0, 0]), np.ones((3, 5))]), "competence", False),
    ):
        probes, audited = panels(sees, cell(4, 5, -25.0))
        found = pj.audit(audited, probes=probes, resamples=100)
        assert found.probes is not None
        verdict = next(f for f in found.advice.verdict if f.code == "verdict.probes")
        assert verdict.values[code] >= 1
        steps = [step.why.code for step in found.advice.steps]
        assert ("step.correct-alone" in steps) == kept
        assert "step.without" in steps if code == "severity" else "step.without" not in steps
        assert (found.advice.uses["panel-mean"].code == "use.mean.probed") == (code == "competence")
        assert ("step.without-blind" in steps) == bool(verdict.values["blind_places"])
        assert any(f.code == f"probe-{code}" for f in found.findings)
        assert verdict.values["tasks"] == 30


def test_probes_of_other_judges_are_refused() -> None:
    probes, audited = panels(np.ones((3, 4)))
    other = probes.select(judges=[probes.judges[0], probes.judges[2]])
    assert pj.audit(audited, probes=other, resamples=100).probes is not None
    renamed = pj.Panel.from_array(
        np.array(probes.system_scores), systems=VERSIONS, judges=["a", "b", "c", "d"], declared_range=(0.0, 100.0)
    )
    with refused(pj.PanelError, 3, 0):
        pj.audit(audited, probes=renamed, resamples=100)


def test_labels_and_probes_are_compared_where_both_exist() -> None:
    """Labels are the quality that seeing judges follow; the blind one is told by both."""
    rng = np.random.default_rng(4)
    sees = cell(3, 4, 0.0, 1.0)
    probes, _ = panels(sees)
    quality = rng.normal(0, 10, (120, 3))
    scores = 60 + quality[:, :, None] * sees + cell(3, 4, -25.0) + rng.normal(0, 5, (120, 3, 4))
    panel = pj.Panel.from_array(scores, declared_range=(0.0, 100.0))
    gold = pd.DataFrame(
        [(t, x, 60 + quality[i, j]) for i, t in enumerate(panel.tasks) for j, x in enumerate(panel.languages)],
        columns=["task", "language", "score"],
    )
    found = pj.anchor(panel, gold, probed=probe(probes, audit=panel), resamples=50)
    assert found.probes is not None
    table = found.probes.set_index(["language", "judge"])
    assert table.loc[("language1", "judge1"), ["sight", "answer"]].tolist() == ["blind", "agrees"]
    assert table.loc[("language1", "judge1"), "correlation"] == pytest.approx(0, abs=0.2)
    calm = table[table["verdict"] == ""]
    assert len(calm) >= 2
    assert set(calm["answer"]) == {"agrees"}
    # next to a broken cell the consensus is off: probes see severity there, labels see that calibrating hurts
    assert set(table[table["answer"] == "contradicts"]["calibrating"]) == {"hurt"}
    said = next(s for s in report_of(found).verdict if s.code == "anchor.probes")  # type: ignore[union-attr]
    counts = table["answer"].value_counts()
    assert [said.values[x] for x in ("agrees", "contradicts")] == [counts["agrees"], counts["contradicts"]]
    turned, _ = panels(1 - sees)  # probes that say the opposite
    answers = pj.anchor(panel, gold, probed=probe(turned, audit=panel), resamples=50).probes
    assert answers is not None
    assert (answers[answers["sight"] == "blind"]["answer"] == "contradicts").all()
