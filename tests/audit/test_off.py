"""What is off: one number, naming, splits, slopes, floors, and what is ruled out (METHODS 18)."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from common import shared_file
from polyjudge import cbc
from polyjudge.answers.audit.off import COLUMNS, Off, off
from polyjudge.answers.audit.scale_use import compare_scale_use, without_slopes
from polyjudge.answers.audit.undeclared import clusters
from polyjudge.base.numbers import ci
from polyjudge.panel import Panel
from polyjudge.stats.cells import excess
from polyjudge.stats.slopes import slopes

Array = NDArray[np.float64]
LANGUAGES = ["English", "German", "Thai", "Hindi", "Turkish", "French", "Greek", "Korean"]
JUDGES = ["A", "B", "C", "D", "E", "F"]


def panel(
    seed: int = 3,
    n: int = 60,
    k: int = 5,
    m: int = 5,
    s: int = 1,
    plant: Callable[[Array, np.random.Generator], Array] | None = None,
    sd: float = 5,
    **more: Any,
) -> Panel:
    g = np.random.default_rng(seed)
    y = 50 + g.normal(0, 12, (n, 1, 1, 1)) + g.normal(0, 3, (n, 1, k, 1)) + g.normal(0, sd, (n, s, k, m))
    y = y if plant is None else plant(y, g)
    more.setdefault("scale", (0.0, 100.0))
    return Panel.from_array(y, languages=LANGUAGES[:k], judges=JUDGES[:m], **more)


def cell(size: float, *at: tuple[Any, Any]) -> Callable[[Array, np.random.Generator], Array]:
    def plant(y: Array, g: np.random.Generator) -> Array:
        for x, b in at:
            y[:, :, x, b] += size
        return y

    return plant


def said(o: Off) -> str:
    return " ".join(f.text for f in o.sentences)


def marked(o: Off) -> set[tuple[str, str]]:
    hit = o.frame[o.frame["named"]]
    return set(zip(hit["language"], hit["judge"], strict=True))


# --- the number ---


def test_off_is_the_change_of_a_gap() -> None:
    p = panel(k=3, m=4)
    y = p.scores[:, 0].mean(0)
    gap = y - (y.sum(1, keepdims=True) - y) / 3
    want = gap - (gap.sum(0) - gap) / 2
    o = off(p)
    assert tuple(o.frame.columns) == COLUMNS
    assert np.allclose(o.frame["off"], want.ravel(), atol=1e-9)
    assert np.allclose(o.frame["off"], cbc.off_factor(3, 4) * o.frame["beta"], atol=1e-9)
    assert np.allclose(o.frame["beta"], cbc.interaction(p.scores[:, 0]).ravel(), atol=1e-9)


def test_one_faulty_cell_is_off_by_what_was_planted_and_calibrating_removes_it() -> None:
    y = np.random.default_rng(0).normal(size=(20, 1, 1, 1)) + np.zeros((20, 1, 4, 5))
    y[:, :, 2, 1] += 7
    p = Panel.from_array(y)
    assert off(p).frame["off"].abs().max() == pytest.approx(7)
    flat = Panel.from_array(cbc.calibrate(y[:, 0]))
    assert off(flat).frame["off"].abs().max() == pytest.approx(0, abs=1e-9)
    assert off(flat).kind == "calm"


def test_what_language_or_judge_do_alone_is_not_off() -> None:
    p = panel()
    moved = p.scores + np.array([0, 30, -9, 4, 1.0]) + 10 * np.arange(5)[:, None]
    a, b = off(p), off(Panel.from_array(moved, languages=p.languages, judges=p.judges, scale=p.scale))
    for column in ("off", "all_low", "excess_high", "beta", "radius"):
        assert np.allclose(a.frame[column], b.frame[column], atol=1e-9)


def test_published_beta_of_devai() -> None:
    pd = pytest.importorskip("pandas")
    d = pd.read_csv(shared_file("devai/run_level_scores.csv"))
    d = d.rename(columns={"framework": "system", "backbone": "judge"})
    o = off(Panel.from_frame(d[["task", "system", "language", "judge", "score"]]))
    row = o.frame.set_index(["language", "judge"]).loc[("Spanish", "GPT-4o")]
    assert row["beta"] == pytest.approx(-20.605825116241785, abs=1e-9)
    assert row["off"] == pytest.approx(-28.3, abs=0.05)
    assert (row["all_low"], row["all_high"]) == pytest.approx((-33.6, -23.0), abs=0.1)
    assert (o.kind, int(o.frame["clear"].sum())) == ("many", 18)
    amount = ci(row["off"], row["all_low"], row["all_high"])
    assert said(o) == (
        f"Language changes the judges: 18 of 48 language-judge pairs are off by more than 2 points, GPT-4o in Spanish "
        f"most ({amount}). Calibrating removes it. GPT-4o gives 0 to 61% of the Spanish answers (7% elsewhere): check "
        "its prompt and parser."
    )
    assert o.shift is not None
    assert o.shift.set_index("language")["shift"].idxmax() == "Hindi"


def test_missing_scores_change_the_number_little() -> None:
    p = panel(plant=cell(-15, (2, 1)))
    y = p.scores.copy()
    y[np.random.default_rng(0).random(y.shape) < 0.2] = np.nan
    o = off(Panel.from_array(y, languages=p.languages, judges=p.judges, scale=p.scale))
    assert np.allclose(o.frame["off"], off(p).frame["off"], atol=1.5)
    assert marked(o) == {("Thai", "B")}


@pytest.mark.parametrize("out", [(), ((1, 2),), ((1, 2), (0, 0))])
@pytest.mark.parametrize("empty", [[], [(0, 1), (2, 0), (2, 3)], [(3, 0), (3, 1), (3, 2), (3, 3)]])
@pytest.mark.parametrize(("k", "m"), [(4, 5), (5, 4)])
def test_an_excess_is_what_the_others_do_not_predict(k: int, m: int, empty: list[Any], out: tuple[Any, ...]) -> None:
    """Referee: least squares on the other cells with dummies; told where these reach the cell."""
    y, present = np.random.default_rng(1).normal(size=(k, m)), np.ones((k, m), dtype=bool)
    for at in empty:
        present[at] = False
    found = excess(present, out)
    made = found.of(y.reshape(1, -1)).reshape(k, m)
    assert np.allclose(found.contrasts @ y.ravel(), made.ravel(), atol=1e-9)
    cells = list(np.ndindex(k, m))
    design = np.array([[x == a for a in range(k)] + [b == a for a in range(m)] for x, b in cells], dtype=float)
    for i, at in enumerate(cells):
        keep = [j for j, other in enumerate(cells) if j != i and present[other] and other not in out]
        fit, _, rank, _ = np.linalg.lstsq(design[keep], y.ravel()[keep], rcond=None)
        reached = np.linalg.matrix_rank(design[[*keep, i]]) == rank
        assert found.told[at] == (present[at] and reached)
        assert made[at] == pytest.approx(y[at] - design[i] @ fit if found.told[at] else 0, abs=1e-9)


# --- what is said ---


def test_one_cell_is_named() -> None:
    o = off(panel(plant=cell(-15, (2, 1))))
    assert o.kind == "named"
    assert marked(o) == {("Thai", "B")}
    found = o.sentences[0]
    assert (found.topic, found.key, found.severity) == ("Off", "off.named", "serious")
    assert found.where == {"language": "Thai", "judge": "B"}
    assert found.text.startswith("In Thai, B scores 14")
    assert " lower, relative to the other judges, than in the other languages. " in found.text
    assert "Apart from this, nothing is off by more than" in found.text
    assert found.text.endswith("; a judge that fails on fewer than 1 in 20 tasks may not show here.")
    row = o.frame[o.frame["named"]].iloc[0]  # the same interval
    assert f"B scores {ci(-row['off'], -row['all_high'], -row['all_low'], 'points')} lower" in found.text


def test_two_cells_are_named_in_one_sentence_in_any_order_of_names() -> None:
    p = panel(plant=cell(14, (1, 0), (3, 4)))
    o = off(p)
    assert marked(o) == {("German", "A"), ("Hindi", "E")}
    assert said(o).count("than in the other languages") == 1
    turned = off(p.select(languages=p.languages[::-1], judges=p.judges[::-1]))
    assert marked(turned) == marked(o)
    assert said(turned) == said(o)


@pytest.mark.parametrize("seed", range(6))
def test_with_two_languages_no_language_is_named(seed: int) -> None:
    """It was: the first language of the file, in 13 of 13, at a third of the size."""
    o = off(panel(seed, k=2, m=4, plant=cell(-12, (seed % 2, 1))))
    assert o.kind == "judge gaps"
    assert {b for _, b in marked(o)} == {"B"}
    row = o.frame[o.frame["judge"] == "B"].iloc[0]
    assert min(abs(row["all_low"]), abs(row["all_high"])) <= 12 <= max(abs(row["all_low"]), abs(row["all_high"]))
    way = "higher" if seed % 2 else "lower"
    amount = ci(abs(row["off"]), *sorted((abs(row["all_low"]), abs(row["all_high"]))), "points")
    assert f"Against the other judges, B scores {amount} {way} in English than in German. " in said(o)
    assert "Which language is at fault cannot be told from two." in said(o)
    assert "In English" not in said(o)


def test_with_two_judges_no_judge_is_named() -> None:
    o = off(panel(k=4, m=2, plant=cell(-12, (1, 1))))
    assert o.kind == "language gaps"
    assert "In German, A scores 1" in said(o)
    assert "Which judge is at fault cannot be told from two." in said(o)


def test_two_by_two_names_nothing() -> None:
    o = off(panel(k=2, m=2, plant=cell(-12, (1, 1))))
    assert o.kind == "two by two"
    assert not marked(o)
    assert said(o).startswith("Against B, A scores 13.2 points [10.7, 15.7] lower in English than in German. ")
    plain = panel(k=2, m=2, plant=cell(-12, (1, 1))).scores[:, 0]
    x = plain[:, 0, 0] - plain[:, 0, 1] - plain[:, 1, 0] + plain[:, 1, 1]
    half = 2.0009953780882684 * x.std(ddof=1) / np.sqrt(60)  # Student's t, 59 degrees of freedom
    row = o.frame.iloc[0]
    assert (row["all_low"], row["all_high"]) == pytest.approx((x.mean() - half, x.mean() + half))


@pytest.mark.parametrize(
    ("at", "begins", "more"),
    [
        (
            ([0, 2, 4], 1),
            "B scores ",
            "higher, relative to the other judges, in English, Thai and Turkish than in the other",
        ),
        ((1, [0, 2, 4]), "In German, A, C and E score ", ""),
    ],
)
def test_half_of_a_row_or_column_is_a_split(at: tuple[Any, Any], begins: str, more: str) -> None:
    o = off(panel(k=6, m=6, plant=cell(10, at)))
    assert o.kind == "split"
    assert not marked(o)
    assert said(o).startswith(begins)
    assert more in said(o)
    assert "cannot be told" in said(o)


def test_diffuse_interaction_is_many() -> None:
    o = off(panel(k=8, m=6, n=55, plant=lambda y, g: y + g.normal(0, 5, y.shape[2:])))
    assert o.kind == "many"
    assert not marked(o)
    assert f"{int(o.frame['clear'].sum())} of 48 language-judge pairs are off by more than 2 points" in said(o)
    two = off(panel(k=2, m=5, plant=lambda y, g: y + g.normal(0, 8, y.shape[2:])))
    assert two.kind == "many"
    assert f"the gaps of {int(two.frame['clear'].sum()) // 2} of 5 judges" in said(two)  # each contrast once


def test_judges_that_use_the_scale_differently_are_no_cells() -> None:
    """It was: a judge with slope 0.4 is "off in lang0" in 120 of 120, and a shift is advised."""

    def plant(y: Array, g: np.random.Generator) -> Array:
        slope = np.ones(y.shape[3])
        slope[2] = 0.4
        shared = y - y.mean(3, keepdims=True) - 0.0
        level = y.mean(3, keepdims=True) - 50 + np.array([-9, -4, 0, 5, 10.0])[:, None]
        return 50 + level * slope + shared

    o = off(panel(plant=plant))
    assert o.kind == "scale"
    assert not marked(o)
    assert "C reacts less than the others to differences between answers (slope 0.4)" in said(o)
    share = re.search(r"That, not language, explains (\d+)% \[(\d+), (\d+)\] of what differs\.", said(o))
    assert share
    explained, low, high = map(int, share.groups())
    assert (explained, low < explained <= high <= 100) == (97, True)  # all of it; noise made 89 of it
    assert o.slopes is not None
    assert o.slopes["slope"].mean() == pytest.approx(1)
    row = o.slopes.set_index("judge").loc["C"]
    assert row["low"] < 0.4 < row["high"] < 0.7


def test_slopes_are_not_said_of_a_noise_judge_or_of_pass_and_fail() -> None:
    def rough(y: Array, g: np.random.Generator) -> Array:
        y = y + g.normal(0, 6, (y.shape[2], 1))
        y[..., 2] = 50 + g.normal(0, 14, y.shape[:3])
        return y

    two = panel(plant=lambda y, g: (y > 45).astype(float), scale=(0.0, 1.0))
    for p in (two, *(panel(seed, plant=rough) for seed in range(8))):
        assert not any(f.key == "off.scale" for f in off(p).sentences)


def test_two_languages_say_the_same_with_the_sign_turned() -> None:
    frame = off(panel(k=2, m=4, plant=cell(-12, (0, 1)))).frame
    one, two = frame[frame["language"] == "English"], frame[frame["language"] == "German"]
    assert np.allclose(one["off"], -two["off"].to_numpy())
    assert np.allclose(one["all_low"], -two["all_high"].to_numpy())
    both = off(panel(k=4, m=2, plant=cell(-12, (0, 1)))).frame
    assert np.allclose(both["off"][::2], -both["off"][1::2].to_numpy())
    whole = off(panel(k=2, m=2)).frame["off"].to_numpy()
    assert np.allclose(whole, whole[0] * np.array([1, -1, -1, 1]))


def test_a_parser_that_fails_is_said() -> None:
    def fails(y: Array, g: np.random.Generator) -> Array:
        y[g.random(len(y)) < 0.6, :, 1, 1] = 0
        return np.maximum(y, 1e-3 * (y > 0))

    o = off(panel(plant=fails))
    assert o.floor is not None
    assert o.floor[["language", "judge"]].to_numpy().tolist() == [["German", "B"]]
    assert "B gives 0 to 60% of the German answers (0% elsewhere): check its prompt and parser." in said(o)

    def lacks(y: Array, g: np.random.Generator) -> Array:
        y[g.random(len(y)) < 0.5, :, 1, 1] = np.nan
        return y

    assert "B gives 0 or no score to 5" in said(off(panel(plant=lacks)))


def test_calm_panels_say_what_is_ruled_out() -> None:
    o = off(panel())
    assert o.kind == "calm"
    limit = max(o.frame["all_high"].max(), -o.frame["all_low"].min())
    assert o.limit == pytest.approx(limit)
    assert said(o) == (
        "Compared with each other, no judge is off by more than 4.4 points in any language; a judge that fails on "
        "fewer than 1 in 20 tasks may not show here."
    )
    assert o.sentences[0].severity == "info"
    assert limit <= 4.4


def test_what_could_not_be_drawn_is_not_ruled_out() -> None:
    """It was: "No judge is off by more than 0.7 points", false in 15 to 58% where a judge fails on few tasks."""
    o = off(panel(sd=0.5))
    highest = panel(sd=0.5).scores.mean((0, 1)).max()
    assert o.blind == pytest.approx((1 - 0.05 ** (1 / 60)) * highest)
    assert o.limit == pytest.approx(o.blind)
    assert "no judge is off by more than 2.5 points" in said(o)
    assert o.sentences[0].severity == "info"


def test_a_cell_about_as_far_off_as_the_limit_is_said_with_its_size() -> None:
    """It was: "with so few tasks a judge may still be off by up to 19", of 17.0 [15.5, 18.4]."""
    p = panel(plant=cell(-15, (2, 1)))
    row = off(p).frame.set_index(["language", "judge"]).loc[("Thai", "B")]
    o = off(p, matters=14)
    assert (o.kind, o.sentences[0].key, o.sentences[0].severity) == ("calm", "off.near_limit", "notice")
    amount = ci(-row["off"], -row["all_high"], -row["all_low"], "points")
    assert said(o).startswith(f"In Thai, B scores {amount} lower, relative to the other judges, than in the other lang")
    assert said(o).endswith(": about your limit of 14.")
    assert "so few tasks" not in said(off(p, matters=40))


def test_scores_that_were_calibrated_are_zero_by_construction() -> None:
    """It was: "No judge is off by more than 1.6 points", of what is zero by arithmetic."""
    y = panel(plant=cell(-15, (2, 1))).scores[:, 0]
    o = off(Panel.from_array(cbc.calibrate(y), scale=(0.0, 100.0)))
    assert (o.kind, o.sentences[0].severity) == ("calibrated", "notice")
    assert "0 by construction" in said(o)
    nearly = cbc.calibrate(y)
    nearly[:, 0, 0] += 0.01
    assert off(Panel.from_array(nearly, scale=(0.0, 100.0))).kind == "calm"


def test_several_named_cells_show_what_the_others_do_not_dilute() -> None:
    o = off(panel(k=4, m=4, n=80, plant=cell(-12, (0, 0), (1, 1))))
    assert o.kind == "named"
    rows = o.frame[o.frame["named"]]
    assert (o.frame["read"] == "excess").all()
    assert ((rows["excess_low"] < -12) & (rows["excess_high"] > -12)).all()
    largest = rows.loc[rows["excess"].idxmin()]
    assert o.sentences[0].head.endswith(f": {largest['excess']:.1f}")
    amount = ci(-largest["excess"], -largest["excess_high"], -largest["excess_low"], "points")
    assert f"{largest['judge']} scores {amount} lower" in said(o)
    assert (off(panel(plant=cell(-15, (2, 1)))).frame["read"] == "off").all()


def sloped(judge: int, slope: float, shift: float = 0.0, at: tuple[int, int] = (0, 0)) -> Callable[..., Array]:
    """One judge reacts less, languages differ, and one cell may be off."""

    def plant(y: Array, g: np.random.Generator) -> Array:
        own = y - y.mean(3, keepdims=True)
        reacts = np.ones(y.shape[3])
        reacts[judge] = slope
        level = y.mean(3, keepdims=True) - 50 + np.array([-9, -4, 0, 5, 8.0])[:, None]
        y = 50 + level * reacts + own
        y[:, :, at[0], at[1]] += shift
        return y

    return plant


def test_beside_a_slope_only_what_stands_beyond_it_is_named() -> None:
    """It was: a healthy language named in 35%."""
    right = 0
    for seed in range(12):
        o = off(panel(seed, n=60, plant=sloped(2, 0.5, shift=-14, at=(3, 2))))
        assert o.sentences[0].key == "off.scale"
        assert "C reacts less than the others" in o.sentences[0].text
        assert marked(o) <= {("Hindi", "C")}
        right += marked(o) == {("Hindi", "C")}
    assert right >= 10
    assert "Beyond that: In Hindi, C scores 1" in said(o)
    assert off(panel(plant=sloped(2, 0.5))).kind == "scale"


def test_values_without_slopes_are_their_jackknife() -> None:
    p = panel(n=40, plant=sloped(2, 0.5))
    use = compare_scale_use(p, p.values(), 0.95)
    rest = without_slopes(p.values(), use.slopes).v

    def fit(keep: NDArray[np.int64]) -> Array:
        part = p.scores[keep]
        found = slopes(part, np.arange(len(keep)), np.ones(len(keep))).slope
        cells = part[:, 0].mean(0)
        return cells - np.outer(cells.mean(1) - cells.mean(), found - 1)

    every = np.arange(40)
    pseudo = 40 * fit(every) - 39 * np.stack([fit(np.delete(every, i)) for i in every])
    assert np.allclose(rest.mean(0), fit(every))
    apart = (rest - rest.mean(0)) - (pseudo - pseudo.mean(0))
    assert np.abs(apart).max() < 0.25 * (pseudo - pseudo.mean(0)).std()


def test_a_cell_with_few_tasks_asks_for_more_and_not_for_another_parser() -> None:
    """It was: serious, check its prompt and parser."""

    def few(y: Array, g: np.random.Generator) -> Array:
        y[6:, :, 1, 1] = np.nan
        return y

    o = off(panel(n=40, plant=few))
    asked = [f for f in o.sentences if f.key == "off.unscored"]
    assert [f.severity for f in asked] == ["notice"]
    assert asked[0].text == "B has scores of only 6 of 40 German tasks: score the others too."
    assert not any(f.key == "off.floor" for f in o.sentences)


def test_too_few_tasks_are_said_with_what_they_cannot_rule_out() -> None:
    """It was: fewer than ten tasks: "Nearly all tasks got one score", of scores from 15 to 76."""
    o = off(panel(n=8, sd=20))
    assert said(o).startswith("Nothing clear, but with so few tasks a judge may still be off by up to ")
    assert o.sentences[0].severity == "notice"
    p = panel(n=60)
    p.scores[4:, :, 2] = np.nan  # one thin language among others
    assert "with so few tasks in Thai (4) a judge may still be off" in said(off(p))
    few = off(panel(n=5))
    assert few.kind == "too few"
    assert said(few) == "5 tasks cannot tell whether a judge is off: at least 6 are needed."
    assert few.frame["off"].notna().all()
    assert few.frame["all_low"].isna().all()


def test_where_few_units_differ_the_exact_limit_holds() -> None:
    y = np.full((60, 1, 3, 4), 1.0)
    o = off(Panel.from_array(y, scale=(0.0, 1.0), two_valued=True))
    assert o.kind == "calm"
    assert 0.05 < o.limit < 0.15
    assert "percentage points" in said(o)


def test_an_empty_cell_is_named_in_one_line_and_the_others_stay() -> None:
    p = panel(plant=cell(-15, (2, 1)))
    p.scores[:, :, 0, 0] = np.nan
    o = off(p)
    assert marked(o) == {("Thai", "B")}
    assert "No scores, so not compared: A in English." in said(o)
    assert o.frame["off"].isna().sum() == 1


def test_languages_that_share_no_tasks_are_compared_all_the_same() -> None:
    p = panel(n=90, k=3, plant=cell(-15, (2, 1)))
    own = np.arange(90) // 30
    p.scores[(own[:, None] != np.arange(3))[:, None, :, None] & np.ones_like(p.scores, dtype=bool)] = np.nan
    o = off(p)
    assert marked(o) == {("Thai", "B")}
    assert o.shift is None
    assert "no score" not in said(o)


def test_one_language_is_silent_and_one_judge_says_what_is_needed() -> None:
    assert off(panel(k=1)).sentences == ()
    o = off(panel(m=1))
    assert (o.kind, len(o.frame)) == ("none", 0)
    assert said(o).startswith("From one judge's scores")


def test_ties_name_nothing() -> None:
    y = np.random.default_rng(0).normal(size=(20, 1, 1, 1)) + np.zeros((20, 1, 4, 4))
    y[:, :, 0, 0] += 9
    y[:, :, 1, 1] += 9
    assert not marked(off(Panel.from_array(y)))


def test_what_does_not_matter_is_not_clear() -> None:
    p = panel(plant=cell(-15, (2, 1)))
    assert off(p, matters=20).kind == "calm"
    assert off(p, level=0.999).frame["all_low"].iloc[0] < off(p).frame["all_low"].iloc[0]


# --- clusters that were not declared ---


def documents(size: float, names: str = "doc{0}-q{1}") -> Panel:
    def plant(y: Array, g: np.random.Generator) -> Array:
        return y + g.normal(0, 1, (5, 1, *y.shape[2:]))[np.arange(len(y)) % 5] * size

    return panel(plant=plant, tasks=[names.format(i % 5, i // 5) for i in range(60)])


def test_tasks_of_documents_are_seen() -> None:
    """It was: bands cover 32 to 73%, and nothing is asked though ids are doc0-q0."""
    found = clusters(documents(3))
    assert found is not None
    assert "--cluster" in found.text
    assert found in off(documents(3)).sentences


def test_names_without_a_difference_are_no_clusters_and_declared_ones_not_asked_for() -> None:
    assert clusters(documents(0)) is None
    assert clusters(documents(4, "q{1}of{0}")) is None
    assert clusters(panel()) is None
    p = documents(4)
    declared = Panel.from_array(p.scores, tasks=p.tasks, unit=np.arange(60) % 5, clustered=True)
    assert clusters(declared) is None


@pytest.mark.statistical
def test_names_alone_are_seldom_taken_for_clusters() -> None:
    names = [f"doc{i % 6}-q{i // 6}" for i in range(48)]
    hits = sum(clusters(panel(s, n=48, k=3, m=3, tasks=names)) is not None for s in range(300))
    assert hits <= 3


@pytest.mark.statistical
def test_a_cell_that_few_tasks_tell_of_is_covered_as_often_as_others() -> None:
    """Its variance is larger by design: shrunk to that of the others it covered 86 to 92%."""
    k, m, hits = 4, 4, 0
    for seed in range(150):
        g = np.random.default_rng(seed)
        cells = g.normal(0, 4, (k, m))
        y = g.normal(0, 12, (60, 1, 1, 1)) + g.normal(0, 3, (60, 1, k, 1)) + cells + g.normal(0, 5, (60, 1, k, m))
        y[8:, :, k - 1, m - 1] = np.nan
        true = excess(np.ones((k, m), dtype=bool)).of(cells.reshape(1, -1))[0, -1]
        row = off(Panel.from_array(y), matters=0).frame.iloc[-1]
        hits += bool(row["low"] <= true <= row["high"])
    assert hits / 150 >= 0.9
