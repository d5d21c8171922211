"""The study on planted people, its figures on the real sets, and first screens that follow its page."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from evidence import agree, error, ranks
from evidence.__main__ import main
from evidence.answers import study
from evidence.figures import figures
from evidence.page import CHARTS
from evidence.readers import read_all
from evidence.refuted import REFUTED
from evidence.sets import Evidence

ROOT = Path(__file__).parents[2]
QUESTION = re.compile(r"^\d+\. \*\*(?P<question>[^*]+)\*\* (?P<word>Yes|No|Partly|Cannot tell)\.", re.MULTILINE)


def planted(
    shared: float = 12.0, own: float = 0.0, sees: float = 1.0, tasks: int = 300, judges: int = 3, seed: int = 0,
    systems: int = 1,
) -> Evidence:  # fmt: skip
    """Judges and three annotators a language on the same items: `shared` is the sd over languages of an error that all
    judges make, `own` that of each; `sees` how much judges follow people. They share a taste too."""
    rng = np.random.default_rng(seed)
    k = 8
    quality = rng.normal(0, 8, (tasks, systems, k)) + rng.normal(0, 4, (1, systems, 1))
    people = np.clip(50 + quality[..., None] + rng.normal(0, 4, (tasks, systems, k, 3)), 0, 100)
    error = rng.normal(0, shared / 3, (k, 1)) + rng.normal(0, own / 3, (k, judges))
    taste = rng.normal(0, 6, (tasks, systems, k, 1))
    scores = 50 + sees * quality[..., None] + taste + error + rng.normal(0, 3, (tasks, systems, k, judges))
    languages = [f"l{i}" for i in range(k)]
    index = pd.MultiIndex.from_product(
        [[f"t{i}" for i in range(tasks)], [f"s{i}" for i in range(systems)], languages],
        names=["task", "system", "language"],
    )
    flat = [x.reshape(-1, x.shape[-1]) for x in (np.clip(scores, 0, 100), people)]
    given = pd.DataFrame(flat[0], index, [f"j{i}" for i in range(judges)]).rename_axis(columns="judge").stack()
    said = pd.DataFrame(flat[1], index, list("abc")).rename_axis(columns="annotator").stack()
    return Evidence("planted", given.rename("score").reset_index(), said.rename("label").reset_index())


def test_agreement_that_people_do_not_share_is_told() -> None:
    blind = agree.by_language(planted(sees=0.0))
    assert blind["agreement"].mean() > 0.6
    assert blind["people"].abs().max() < 0.2
    assert (blind["low"] < blind["people"]).all()
    seeing = agree.by_language(planted(sees=1.0))
    assert seeing["people"].min() > 0.5
    answers = {a.key: a for a in study([planted(sees=0.0)])}
    assert answers["panels"].word == "No"


@pytest.mark.statistical
def test_intervals_of_r_hold() -> None:
    """r of a language from 300 items against r of 4,000."""
    large = agree.by_language(planted(tasks=4000, seed=9)).set_index("language")["people"].mean()
    rows = [agree.by_language(planted(seed=seed)) for seed in range(6)]
    held = pd.concat([(r["low"] <= large) & (large <= r["high"]) for r in rows])
    assert held.mean() > 0.88


def test_shared_error_is_left_by_cbc_and_removed_by_labels() -> None:
    e = planted(shared=15.0)
    found = error.sizes(e)
    assert found["shared"] > 0.9
    assert found["cbc removes"] < 0.05
    assert found["low"] < found["sd"] < found["high"]
    removed = error.labels_remove(e, reps=30).set_index("labels")
    assert removed.loc[50, "shared variance"] > 0.85
    assert (removed["shared variance"] >= removed["plain"] - 0.01).all()
    assert removed["shared variance"].is_monotonic_increasing
    product = error.anchored_removes(e, reps=2).set_index("labels")["anchored removes"]
    assert product[50] > 0.8
    apart = planted(shared=0.0, own=15.0)
    assert error.sizes(apart)["shared"] < 0.4
    assert error.sizes(apart)["cbc removes"] > 0.5


def test_severity_of_annotators_bounds_the_error() -> None:
    e = planted()
    labels = e.labels.copy()
    labels.loc[labels["annotator"] == "a", "label"] = (labels["label"] + 9).clip(0, 100)
    sd, part = error.severity(Evidence("severe", e.scores, labels))
    assert sd == pytest.approx(9 / np.sqrt(3), abs=0.5)
    assert part == pytest.approx(sd / np.sqrt(3))


def test_ranks_of_people_are_missed_where_judges_are_blind() -> None:
    right = ranks.rank_sets(planted(systems=5, tasks=150))
    wrong = ranks.rank_sets(planted(systems=5, tasks=150, sees=-1.0))
    assert right["tasks all"].mean() > 0.6
    assert wrong["tasks all"].mean() < 0.2
    assert right["tau"].mean() > 0.5
    assert wrong["tau"].mean() < -0.5


def test_choosing_a_judge_by_labels_beats_agreement_where_most_are_blind() -> None:
    e = planted(judges=4)
    scores = e.scores.copy()
    rng = np.random.default_rng(1)
    odd = scores["judge"] == "j0"  # the one that sees people's quality, and no taste of the others
    people = e.labels.groupby(["task", "system", "language"])["label"].mean()
    at = pd.MultiIndex.from_frame(scores.loc[odd, ["task", "system", "language"]])
    scores.loc[odd, "score"] = np.clip(people.reindex(at).to_numpy() + rng.normal(0, 2, odd.sum()), 0, 100)
    table = agree.best_judge(Evidence("odd", scores, e.labels))
    assert not table["right"].any()
    assert (table["labels pick"] > table["agreement picks"]).all()


@pytest.mark.real_data
def test_the_real_sets_give_the_figures_that_were_said(tmp_path: Path) -> None:
    folder = ROOT.parent / "shared" / "data"
    if not folder.exists():
        pytest.skip("../shared/data is not there")
    sets, absent = read_all(folder)
    assert {"WMT22 with GEMBA", "BASSE", "MENLO"} <= {source.name for source, _ in absent}
    table = figures(sets).set_index("figure")
    exact = table[table.index.str.contains("language error|differ by|(?:50|100|200) labels")]
    assert len(exact) == 13
    for name, row in exact.iterrows():
        said, here = (float(re.match(r"[\d.]+", row[column])[0]) for column in ("said", "here"))
        assert here == pytest.approx(said, abs=3 if "%" in row["said"] else 0.1), name
    assert "no" not in set(table["same"])
    assert set(table.loc[table.index.str.contains("shared by all|CBC removes"), "same"]) == {"within it"}


def test_the_command_writes_the_page_and_its_charts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "none").mkdir()
    assert main([str(tmp_path / "none")]) == 2
    assert "Not there: MENLO" in capsys.readouterr().out
    assert main([str(tmp_path / "nowhere")]) == 2


def english() -> Iterator[tuple[str, str]]:
    """Every text of the words of questions, reports and commands, with its file; not where people or probes speak."""
    for path in sorted((ROOT / "src" / "polyjudge").rglob("*words.py")):
        if path.parent.name in ("anchor", "label", "probe"):
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield path.relative_to(ROOT).as_posix(), node.value


def test_first_screens_and_advice_say_nothing_that_the_page_refutes() -> None:
    """Reads the page and the words: a phrase may stand only where the page answers its question with Yes."""
    page = (ROOT / "docs" / "evidence.md").read_text(encoding="utf-8")
    told = {m["question"]: m["word"] for m in QUESTION.finditer(page)}
    assert len(told) == 10
    for chart in CHARTS:
        assert (ROOT / "docs" / chart).exists()
    keys = {a.question: a.key for a in study([planted(systems=4, tasks=60, judges=4)])}
    refuted = {keys[q]: word for q, word in told.items() if q in keys and word != "Yes"}
    phrases = [p for key, some in REFUTED.items() if key in refuted for p in some]
    assert len(phrases) > 8
    wrong = [(file, text) for file, text in english() for p in phrases if p in text.lower()]
    assert not wrong, wrong
