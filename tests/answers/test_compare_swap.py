"""Compare and swap: numbers, words and refusals."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from polyjudge.answers.compare import compare
from polyjudge.answers.swap import swap
from polyjudge.base.errors import PanelError, UsageError
from polyjudge.panel import Panel
from polyjudge.simulate import sample_panel, simulate_panel


def texts(found: Any) -> str:
    return " ".join(f.text for f in found.findings)


# --- compare ---


def test_compare_on_devai(devai: Panel, published: dict[str, Any]) -> None:
    found = compare(devai, seed=7)
    assert list(found.methods.columns) == [
        "method", "tau", "low", "high", "full_fit", "identity", "gain", "gain_low", "gain_high",
    ]  # fmt: skip
    rows = found.methods.set_index("method")
    for method in ("raw", "cbc", "oracle"):
        assert rows.loc[method, "tau"] == pytest.approx(published["held_out"]["methods"][method][0], abs=0.005)
    assert rows.loc["cbc", ["gain", "gain_low", "gain_high"]].tolist() == pytest.approx([29.18165, 24.91265, 33.45066])
    assert rows.loc["cbc-weighted", "tau"] == rows.loc["cbc", "tau"]
    assert rows.loc["per-language norm", "tau"] == rows.loc["raw", "tau"]
    assert np.isnan(rows.loc["z-score", "gain"])
    low, gain, high = rows.loc["oracle", ["gain_low", "gain", "gain_high"]]
    assert 0.5 * gain < low < gain < high < 2 * gain
    said = "tau 0.65 [0.61, 0.71] before calibrating and 0.90 [0.80, 1.00] after (brackets: 95% of the resamples)"
    assert said in texts(found)
    assert found.report().board.note == "tau: the mean over 1,000 resamples; brackets hold 95% of them."
    pair = found.differences.query("method_a == 'raw' and method_b == 'cbc'").iloc[0]
    assert pair["difference"] == pytest.approx(rows.loc["raw", "tau"] - rows.loc["cbc", "tau"])
    assert found.report().board is not None


def test_what_had_to_be_left_out_is_named() -> None:
    p = simulate_panel(tasks=30, systems=1, languages=4, judges=4, seed=1).panel
    y = p.scores.copy()
    y[:, :, 2, 1] = y[3, :, 0, 0] = np.nan
    holes = Panel.from_array(y, languages=p.languages, judges=p.judges, scale=(0, 100))
    found = compare(holes, replicates=50)
    assert found.left_out == (p.languages[2],)
    assert f"Left out, because too little joins it to the others: {p.languages[2]}." in texts(found)
    assert "Not compared, because some scores are missing: combat-eb and dawid-skene." in texts(found)
    with pytest.raises(PanelError, match="needs every score"):
        compare(holes, methods=("combat-eb",))
    y[:, :, :, 1] = np.nan
    y[:, :, 0, 1] = p.scores[:, :, 0, 1]
    alone = compare(Panel.from_array(y, languages=p.languages, judges=p.judges), replicates=50)
    assert alone.left_out == (p.judges[1],)


@pytest.mark.parametrize(("k", "m"), [(1, 3), (3, 1)])
def test_compare_needs_two(k: int, m: int) -> None:
    with pytest.raises(PanelError, match="two languages and two judges"):
        compare(simulate_panel(systems=1, languages=k, judges=m).panel)


def test_compare_two_judges_and_few_tasks() -> None:
    found = compare(simulate_panel(systems=1, judges=2).panel, replicates=20)
    assert "With two judges" in texts(found)
    noise = Panel.from_array(np.random.default_rng(0).normal(50, 9, (20, 4, 4)), scale=(0, 100))
    assert "--shrink" in compare(noise, replicates=20).report().next[0].command
    two = compare(simulate_panel(systems=1, tasks=2).panel, replicates=20)
    assert two.skipped > 0
    assert "too few to say what calibrating gains" in texts(two)
    with pytest.raises(UsageError):
        compare(simulate_panel(systems=1).panel, replicates=0)


# --- swap ---


def study(seed: int = 0, off: float = 0.0, n: int = 80, rare: float = 0.0) -> Panel:
    g = np.random.default_rng(seed)
    y = 60 + g.normal(0, 10, (n, 1, 1, 1)) + np.array([4.0, 0, -4])[:, None, None] + g.normal(0, 3, (n, 3, 2, 3))
    y[:, 0, :, 1] += off  # the new judge likes the first system
    y[g.random(n) < rare, :, :, 1] -= 40
    return Panel.from_array(
        y, systems=("x", "y", "z"), languages=("de", "en"), judges=("old", "new", "c"), scale=(0, 100)
    )


def test_swap_is_the_change_of_the_panel_mean() -> None:
    p = study()
    found = swap(p, judges="old=new")
    rest, with_new = p.scores[..., [0, 2]].mean(-1), p.scores[..., [1, 2]].mean(-1)
    row = found.changes.query("kind == 'system difference' and language == 'en' and first == 'x' and second == 'z'")
    expected = (with_new - rest)[:, 0, 1].mean() - (with_new - rest)[:, 2, 1].mean()
    assert row["change"].item() == pytest.approx(expected)
    assert len(found.changes) == 2 * 3 + 2
    de, en = (with_new - rest).mean((0, 1))
    assert found.changes.query("kind == 'language' and language == 'de'")["change"].item() == pytest.approx(de - en)
    alone = swap(p, judges="old=new", alone=True).changes
    both = found.changes.merge(alone, on=["kind", "language", "first", "second"])
    np.testing.assert_allclose(both["change_y"], 2 * both["change_x"])


def test_the_units_of_changes_are_in_the_heading() -> None:
    headings = [
        swap(study(), judges="old=new", threshold=threshold).report().sections[0].tables[0].titles
        for threshold in (None, "60")
    ]
    assert [x["change"] for x in headings] == ["change, points", "change, points; of pass rates, percentage points"]
    assert [x["inside"] for x in headings] == ["within 2", "within what is accepted"]


def test_swap_answers() -> None:
    yes = swap(study(), judges="old=new", matters=3)
    assert (yes.answer, yes.incomplete, yes.tasks_to_settle) == ("accepted", False, None)
    assert re.search(r"old no comparison of systems or languages moves by more than 3 points\. Most: ", texts(yes))
    assert (yes.changes[["low", "high"]].abs() < 3).all(axis=None)
    no = swap(study(off=12), judges="old=new", matters=2)
    assert (no.answer, no.findings[0].severity) == ("refused", "serious")
    assert re.search(r"^No: with new in place of old, x gains [\d.]+ points \[.*\] on [yz] in (de|en)\.", texts(no))
    open_ = swap(study(n=12), judges="old=new", matters=0.6)
    assert (open_.answer, open_.findings[0].severity) == ("open", "warning")
    assert open_.tasks_to_settle
    assert f"If the two score alike, about {open_.tasks_to_settle:,} tasks would show it." in texts(open_)
    over = swap(study(off=5), judges="old=new", matters=2.4)  # beyond what is accepted, and not surely
    size, low, high = map(float, re.search(r"gains ([\d.]+) points \[([\d.]+), ([\d.]+)\]", texts(over)).groups())
    assert low < 2.4 < size < high
    never = swap(study(), judges="old=new", matters=1e-4)
    assert never.tasks_to_settle is None
    assert "No number of tasks would show that the two score alike so closely." in texts(never)


def test_equal_scores_on_few_tasks_are_no_yes() -> None:
    """It was: "Yes: nothing moves by more than 2 points [0.00, 0.00]"."""
    y = np.ones((20, 3, 2, 2))
    found = swap(Panel.from_array(y, scale=(0, 1), two_valued=True), judges="J1=J2")
    assert found.answer == "open"
    assert "on 20 tasks nothing differed, but failures of up to 14% could have gone unseen." in texts(found)
    assert found.blind == pytest.approx(100 * (1 - 0.05 ** (1 / 20)))
    assert found.tasks_to_settle is not None
    assert found.tasks_to_settle > 1000  # 149 rule out failures; of 20 that agree, 8% may still differ at random
    assert "Rare" not in {f.topic for f in found.findings}  # said once
    many = swap(Panel.from_array(np.ones((400, 3, 2, 2)), scale=(0, 1), two_valued=True), judges="J1=J2")
    assert many.answer == "accepted"
    assert "could move a pass rate by up to 0.7" in texts(many) or "could move a mean by up to 0.7" in texts(many)


def test_where_only_what_was_not_drawn_is_open_that_is_said() -> None:
    found = swap(study(), judges="old=new", matters=3, alone=True)
    assert found.answer == "open"
    assert (found.changes[["low", "high"]].abs() < 3).all(axis=None)
    assert "within the 3 that are accepted, but if new fails on fewer than 1 in 27 tasks" in texts(found)
    assert texts(found).count("fewer than 1 in") == 1


def test_what_few_tasks_carry_is_no_yes() -> None:
    """Zeros on three of eighty tasks, of all systems but one: the interval is too short for what it does not know."""
    y = study(n=80).scores.copy()
    y[:3, 0, 0, 1] = 0
    found = swap(Panel.from_array(y, scale=(0, 100)), judges="J1=J2", matters=4)
    assert found.answer == "open"
    row = found.changes.query("kind == 'system difference' and language == 'l1'").iloc[0]
    assert max(abs(row["low"]), abs(row["high"])) < 4


def test_a_swap_in_a_large_panel_moves_a_share_of_what_fails() -> None:
    p = study()
    alone, panel = swap(p, judges="old=new", alone=True), swap(p, judges="old=new")
    assert panel.blind == pytest.approx(alone.blind / 2)


def test_swap_shows_no_method_of_a_frame() -> None:
    """`row.first` of a Series was the method of that name."""
    assert "bound method" not in texts(swap(study(off=12), judges="old=new", matters=2))
    p = simulate_panel(systems=1, languages=1, judges=3).panel
    assert "bound method" not in texts(swap(p, judges="Aster=Cobalt", threshold="70"))


@pytest.mark.parametrize(("off", "tasks", "who"), [(0, 4, 1), (0, 0, 1), (0, 0, 0), (20, 4, 1)])
def test_thin_languages_and_judges_that_are_stricter_everywhere(off: float, tasks: int, who: int) -> None:
    y = np.concatenate([study(n=200).scores, study(1, n=200).scores], axis=2)
    y[:, :, 1, 1] += off
    y[tasks:, :, 3, who:2] = np.nan
    found = swap(Panel.from_array(y, scale=(0, 100)), judges="J1=J2")
    assert (found.answer, found.incomplete) == ("refused" if off else "open", True)
    assert "oo few tasks were scored by both judges to compare l4 with other languages" in texts(found)
    assert ("l2 against l1 and l3 rises by" in texts(found)) == (off > 0)
    y = np.stack([y[:, :, :3, 0], y[:, :, :3, 0] - 15], axis=-1)
    falls, fails = (swap(Panel.from_array(x), judges="J1=J2") for x in (y, (y > 50) * 1.0))
    assert "The mean score falls by 15.00 points [15.00, 15.00]." in texts(falls)
    assert re.search(r"^No: .* the pass rate of s[123] in l[123] falls by", texts(fails))


@pytest.mark.statistical
def test_swap_accepts_what_lies_at_the_limit_in_five_percent() -> None:
    accepted = sum(swap(study(s, off=4, n=40), judges="old=new", matters=2).answer == "accepted" for s in range(150))
    assert accepted / 150 <= 0.05 + 2 * np.sqrt(0.05 * 0.95 / 150)
    refused = sum(swap(study(s, off=3.9, n=40), judges="old=new", matters=2).answer == "refused" for s in range(150))
    assert refused / 150 <= 0.05 + 2 * np.sqrt(0.05 * 0.95 / 150)


def test_swap_by_pass_rates() -> None:
    p = study()
    found = swap(p, judges="old=new", threshold=">=60", matters=15)
    rates = found.changes[found.changes["kind"] == "pass rate"]
    passed = 100 * (p.scores >= 60)
    row = rates.query("language == 'de' and first == 'y'")
    assert row["change"].item() == pytest.approx((passed[:, 1, 0, 1] - passed[:, 1, 0, 0]).mean() / 2)
    assert "no pass rate by more than 15 percentage points" in texts(found)


def test_what_fails_rarely_may_not_have_shown() -> None:
    found = swap(study(), judges="old=new", matters=3)
    assert "If new fails on fewer than 1 in 27 tasks, these tasks may not show it" in texts(found)  # 1 - 0.05^(1/80)
    assert "within what is accepted" in texts(found)
    with pytest.raises(TypeError):
        swap(study(), judges="old=new", guard=True)  # type: ignore[call-arg]


def test_swap_with_holes_and_names() -> None:
    p = study(n=200)
    y = np.where(np.random.default_rng(1).random(p.scores.shape) < 0.6, np.nan, p.scores)  # no task is whole
    holes = Panel.from_array(y, systems=p.systems, languages=p.languages, judges=("a=b", "c=d", "e"), scale=(0, 100))
    found = swap(holes, judges="a=b=c=d", matters=3)
    assert (found.old, found.new) == ("a=b", "c=d")
    moved = np.nanmean(y[..., 1] - y[..., 0], axis=0) / 2  # systems, languages
    gaps = [abs(moved[i, x] - moved[j, x]) for i, j in ((0, 1), (0, 2), (1, 2)) for x in (0, 1)]
    assert found.changes.query("kind == 'system difference'")["change"].abs().max() == pytest.approx(max(gaps))


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"judges": "old=old"}, "replace itself"),
        ({"judges": "old"}, "OLD=NEW"),
        ({"matters": 0}, "above 0"),
        ({"matters": np.inf}, "from 0 on"),
        ({"level": 1}, "level"),
        ({"threshold": "high"}, "threshold"),
        ({"threshold": "101"}, "outside the scale"),
    ],
)
def test_swap_refusals(more: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        swap(study(), **{"judges": "old=new", **more})


def test_swap_with_nothing_to_compare() -> None:
    with pytest.raises(PanelError, match="nobody"):
        swap(study(), judges="old=nobody")
    p = simulate_panel(systems=1, languages=1, judges=3).panel
    with pytest.raises(PanelError, match="--threshold 70"):
        swap(p, judges="Aster=Cobalt")
    assert swap(p, judges="Aster=Cobalt", threshold="70").changes["kind"].tolist() == ["pass rate"]
    y = (np.random.default_rng(0).random((120, 1, 1, 3)) < 0.6) * 1.0  # pass and fail need no mark
    found = swap(Panel.from_array(y, judges=("old", "new", "c"), scale=(0, 1)), judges="old=new", matters=20)
    assert "nothing moves by more than 20 percentage points" in texts(found)
    with pytest.raises(PanelError, match="too few"):
        swap(simulate_panel(tasks=1).panel, judges="Aster=Cobalt")
    assert swap(sample_panel(), judges="Aster=Cobalt", matters=1e-320).answer in ("open", "refused")
