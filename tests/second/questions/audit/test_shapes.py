"""Panels of other shapes: one language, one judge, no shared tasks, several criteria. Every command answers, or says in
one line what it lacks."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import numpy as np
import pandas as pd
import pytest

import polyjudge.second as pj
from polyjudge.second.panel.errors import UsageError
from polyjudge.second.questions.audit.audit import Audit, Inside
from polyjudge.second.questions.audit.by_criterion import Criteria, audit_criteria
from polyjudge.second.questions.systems.leaderboard import leaderboard
from polyjudge.second.read.criterion_panels import read_criteria
from polyjudge.second.report import report_of, terminal
from polyjudge.second.report.sections import Table
from polyjudge.second.report.tables import rows
from refusals import refused

Cli = Callable[..., CompletedProcess[str]]
SHAPES = {f"{k} x {m}{' with systems' if s else ''}": (k, m, s) for k, m in ((1, 1), (1, 3), (3, 1)) for s in (0, 3)}


def panel_of(k: int, m: int, s: int, seed: int = 1, tasks: int = 24) -> pj.Panel:
    whole = pj.simulate_panel(tasks, max(k, 2), max(m, 2), systems=s, seed=seed)[0]
    return whole.select(languages=whole.languages[:k], judges=whole.judges[:m])


@pytest.fixture
def folder(tmp_path: Path) -> Callable[..., Path]:
    """A folder of scores of a shape, later ones, labels, probes, items, a plan, and a baseline of the whole."""

    def made(k: int, m: int, s: int) -> Path:
        panel = panel_of(k, m, s)
        panel.to_long().to_csv(tmp_path / "scores.csv", index=False)
        panel_of(k, m, s, seed=2).to_long().to_csv(tmp_path / "later.csv", index=False)
        keys = ["task", "language", *(["system"] if s else [])]
        gold = panel.to_long().groupby(keys, sort=False)["score"].mean().reset_index()
        gold.to_csv(tmp_path / "gold.csv", index=False)
        probes = pj.simulate_panel(24, 3, 3, systems=["clean", "damage-1", "placebo-1"], seed=3)[0]
        probes = probes.select(languages=panel.languages, judges=panel.judges)
        probes.to_long().to_csv(tmp_path / "probes.csv", index=False)
        items = [{"id": f"t{i}", "prompt": "Do.", "response": "Done. It is well done."} for i in range(3)]
        (tmp_path / "items.jsonl").write_text("\n".join(map(json.dumps, items)))
        plan = {
            "languages": ["en", "de", "fr"][:k], "items": {"path": "items.jsonl", "shared": True},
            "rubric": {"kind": "rating"}, "judges": [f"ollama/judge{j}" for j in range(m)],
        }  # fmt: skip
        (tmp_path / "plan.json").write_text(json.dumps(plan))
        pj.ConsensusCalibrator().fit(pj.simulate_panel(24, 3, 3, seed=1)[0]).save(tmp_path / "whole.json")
        return tmp_path

    return made


LACKS = {
    "systems": lambda k, m, s: not s,
    "judges": lambda k, m, s: m == 1,
    "compare": lambda k, m, s: True,
    "calibrate out": lambda k, m, s: True,
    "plan": lambda k, m, s: not s,
    "plan systems": lambda k, m, s: not s,
}
"""What says in one line what it lacks, and for which shapes; everything else works for all."""


@pytest.mark.parametrize("shape", SHAPES)
def test_every_command_answers_or_says_what_it_lacks(cli: Cli, folder: Callable[..., Path], shape: str) -> None:
    k, m, s = SHAPES[shape]
    here = folder(k, m, s)
    scores = here / "scores.csv"
    few = ("--resamples", 100)
    for name, words in {
        "check": ("check", scores),
        "audit": ("audit", scores, *few, "-o", here / "audit"),
        "audit probes": ("audit", scores, "--at", 50, "--probes", here / "probes.csv", *few),
        "systems": ("systems", scores, *few, "-o", here / "systems"),
        "judges": ("judges", scores, "-o", here / "judges"),
        "compare": ("compare", scores, *few),
        "calibrate out": ("calibrate", scores, "-o", here / "out.csv"),
        "calibrate save": ("calibrate", scores, "--save", here / "own.json"),
        "calibrate labels": ("calibrate", scores, "--labels", here / "gold.csv", "-o", here / "by-labels.csv"),
        "apply": ("apply", here / "whole.json", scores, "-o", here / "applied.csv"),
        "drift": ("drift", here / "own.json", here / "later.csv", "-o", here / "drift"),
        "drift whole": ("drift", here / "whole.json", scores),
        "drift audits": ("drift", here / "audit", here / "audit", "-o", here / "difference"),
        "anchor": ("anchor", scores, here / "gold.csv", "-o", here / "anchor"),
        "probe": ("probe", "read", here / "probes.csv", "-o", here / "probe"),
        "plan": ("plan", "--from", scores, "-o", here / "plan"),
        "plan systems": ("plan", "--from", scores, "--separate", 5),
        "label": ("label", "make", scores, "-o", here / "labels"),
        "collect": ("collect", here / "plan.json", "--dry-run"),
    }.items():
        done = cli(*words)
        lacks = LACKS.get(name, lambda *_: False)(k, m, s)
        assert (done.returncode == 2) == lacks, (name, done.stderr)
        if lacks:
            (said,) = done.stderr.strip().splitlines()
            assert said.startswith("polyjudge: ")
            assert said.endswith(".")
        else:
            assert done.returncode in (0, 1), (name, done.stderr)
    for page in ("audit", "drift", "difference", "anchor", "probe"):
        text = (here / page / "report.html").read_text("utf-8")
        assert "</html>" in text
        assert "nan" not in text.split("</style>")[-1].split("<script")[0].lower().split()


@pytest.mark.parametrize("shape", SHAPES)
def test_notebooks_show_every_result(shape: str, folder: Callable[..., Path]) -> None:
    k, m, s = SHAPES[shape]
    here, panel = folder(k, m, s), panel_of(k, m, s)
    found = [pj.audit(panel, resamples=100), pj.anchor(panel, here / "gold.csv"), pj.probe(here / "probes.csv")]
    found.append(pj.drift(pj.ConsensusCalibrator().fit(panel), panel_of(k, m, s, seed=2)))
    if s:
        found.append(pj.systems(panel, resamples=100))
    if m > 1:
        found.append(pj.judges(panel))
    for result in found:
        assert repr(result)
        assert "<" in result._repr_html_()
        assert json.dumps(result.to_dict())


def test_one_language_and_one_judge_are_watched() -> None:
    """A judge that becomes 8 points harsher is found with one language and with one judge, and nothing else is."""
    for k, m, code in ((1, 3, "judge-offset-changed"), (3, 1, "level-changed"), (1, 1, "level-changed")):
        before = panel_of(k, m, 0, tasks=40)
        rng = np.random.default_rng(k + m)
        noise = rng.normal(0, 3, before.scores.shape)
        cal = pj.ConsensusCalibrator().fit(before)
        calm, harsh = (before.with_scores(before.scores + noise - x * (np.arange(m) == 0)) for x in (0, 8))
        assert code in {f.code for f in pj.drift(cal, harsh).findings if f.weight >= 2}
        assert not [f for f in pj.drift(cal, calm).findings if f.weight >= 2]


@pytest.mark.parametrize("shape", SHAPES)
def test_an_audit_names_the_winner_and_what_is_lacking(shape: str) -> None:
    k, m, s = SHAPES[shape]
    found = pj.audit(panel_of(k, m, s), resamples=100, threshold=50)
    assert isinstance(found, Inside)
    assert not isinstance(found, Audit)
    assert found.left_out["languages"].values["why"] == ("both" if k == m == 1 else "judge" if m == 1 else "language")
    assert (found.systems is not None) == bool(s)
    assert len(found.means) == k * m
    assert (found.means["low"] < found.means["mean"]).all()
    assert found.means["pass_low"].between(0, 1).all()
    assert repr(found)
    assert found._repr_html_()
    assert json.dumps(found.to_dict())


def test_one_language_is_that_language_of_the_whole() -> None:
    whole = pj.simulate_panel(60, ["en", "de"], 4, systems=4, seed=3)[0]
    alone = pj.audit(whole.select(languages=["en"]), resamples=200)
    assert isinstance(alone, Inside)
    assert alone.systems is not None
    inside = leaderboard(whole, resamples=200).systems.query("language == 'en'")
    here = alone.systems.leaderboard.systems.query("language == 'en'")
    np.testing.assert_allclose(inside["mean"], here["mean"])
    for column in ("rank", "rank_low", "rank_high", "top_set"):
        assert inside[column].tolist() == here[column].tolist(), column


@pytest.mark.statistical
def test_means_and_pass_rates_hold_their_level() -> None:
    held = {"mean": [], "pass": []}
    for seed in range(80):
        rng = np.random.default_rng(seed)
        found = pj.audit(pj.Panel.from_array(rng.normal(60, 10, (40, 1, 2))), threshold=70, resamples=100)
        held["mean"] += found.means[["low", "high"]].apply(lambda r: r["low"] <= 60 <= r["high"], axis=1).tolist()
        held["pass"] += found.means.apply(lambda r: r["pass_low"] <= 0.1587 <= r["pass_high"], axis=1).tolist()
    assert np.mean(held["mean"]) >= 0.90  # 160 intervals at 95%
    assert np.mean(held["pass"]) >= 0.90


def test_languages_without_shared_tasks() -> None:
    rows = pj.simulate_panel(40, ["en", "de"], 3, systems=3, seed=4)[0].to_long()
    rows["task"] = rows["language"] + rows["task"]
    rows = rows[(rows["judge"] != "judge3") | (rows["language"] == "en")]
    found = pj.audit(rows, resamples=100)
    assert isinstance(found, Inside)
    assert found.left_out["languages"].values["why"] == "apart"
    assert found.explanation is None


def criteria_table() -> pd.DataFrame:
    """Three criteria; tone repeats clarity; in accuracy one judge is 20 points off in one language."""
    rng = np.random.default_rng(5)
    made = {"languages": ["en", "de", "fr"], "judges": ["A", "B", "C", "D"], "systems": ["s", "t", "u"]}
    base, other = (pj.simulate_panel(60, **made, interaction=0.0, seed=seed)[0] for seed in (6, 7))
    out = []
    for name, panel in (("clarity", base), ("tone", base), ("accuracy", other)):
        frame = panel.to_long()
        frame["score"] += rng.normal(0, 2, len(frame))
        if name == "accuracy":
            frame.loc[(frame["judge"] == "B") & (frame["language"] == "fr"), "score"] -= 20
        out.append(frame.assign(criterion=name))
    return pd.concat(out)


def test_the_step_to_labels_of_criteria_can_be_pasted(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Labels are of one criterion: `label make` knows no --criteria."""
    monkeypatch.chdir(tmp_path)
    keys = ["task", "system", "language", "judge"]
    wide = criteria_table().pivot(index=keys, columns="criterion", values="score").reset_index()
    wide.to_csv("scores.csv", index=False)
    wide[keys[:3]].drop_duplicates().assign(prompt="p", response="r").to_csv("items.csv", index=False)
    done = cli("audit", "scores.csv", "--criteria", "clarity,tone,accuracy", "--resamples", 100)
    line = next(x for x in done.stdout.splitlines() if "polyjudge label make" in x)
    words = shlex.split(line[line.index("polyjudge") :].replace("ITEMS", "items.csv"))
    assert "--score" in words
    made = cli(*words[1:], "-o", "pages")
    assert made.returncode == 0, made.stderr


def test_criteria_share_one_screen(cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "scores.csv"
    criteria_table().to_csv(path, index=False)
    done = cli("audit", path, "--resamples", 100, "-o", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    assert all(name in done.stdout for name in ("clarity", "tone", "accuracy"))
    saved = json.loads((tmp_path / "out" / "audit.json").read_text("utf-8"))
    assert set(saved["criteria"]) == {"clarity", "tone", "accuracy"}


@pytest.mark.parametrize("long", [False, True])
def test_seven_criteria_fit_one_screen(long: bool) -> None:
    """Thirty lines, one for each criterion: who may be best, agreement, the cell that is furthest off. Long names
    lengthen the sentences, not the table."""
    more = " of the whole and long answer" if long else ""
    panels = {}
    for x, name in enumerate(("clarity", "accuracy", "depth", "brevity", "tone", "use", "safety")):
        languages, judges, systems = ([f"{y}{more}{i}" for i in range(4)] for y in ("lang", "judge", "sys"))
        whole = pj.simulate_panel(40, languages, judges, systems=systems, interaction=0.0, seed=x)[0]
        scores = np.array(whole.system_scores)
        scores[:, :, x % 4, x % 3] -= 25
        axes = (whole.tasks, whole.languages, whole.judges)
        panels[name + more] = pj.Panel.from_array(scores, *axes, systems=whole.systems)
    report = report_of(audit_criteria(panels, resamples=100), next(iter(panels.values())))
    assert report is not None
    assert report.read[0].values == {"criteria": 7, "first": f"clarity{more}"}
    lines = terminal.text(report, width=96).splitlines()
    assert len(lines) <= (35 if long else 30), "\n".join(lines)
    assert max(map(len, lines)) <= 96
    (block,) = report.picture
    assert isinstance(block, Table)
    assert block.frame["cell"].str.contains(": -2", regex=False).all()
    for row in rows(block)[1]:
        assert sum(all(entry in line for entry in row) for line in lines) == 1
    assert {"excess_low", "delta"} <= set(report.sections[0].blocks[0].frame)


def test_criteria_that_say_the_same_and_the_one_with_the_trouble_are_named() -> None:
    found = audit_criteria(read_criteria(criteria_table()), resamples=200)
    assert isinstance(found, Criteria)
    row = found.table.set_index("criterion").loc["accuracy"]
    assert (row["judge"], row["language"]) == ("B", "fr")
    assert row["excess_low"] <= -20 <= row["excess_high"]
    same = found.same.set_index(["criterion_a", "criterion_b"])["alike"]
    assert bool(same[("clarity", "tone")])
    assert same.sum() == 1
    assert [one.level for one in found.audits.values()] == pytest.approx([1 - 0.05 / 3] * 3)
    assert found.mean is not None


def test_two_judges_agree_about_criteria_and_what_that_is_worth_is_said_once() -> None:
    """Their verdict is "cannot tell", but not because they do not agree."""
    table = criteria_table()
    found = audit_criteria(read_criteria(table[table["judge"].isin(["A", "B"])]), resamples=200)
    assert (found.table["verdict"] == "cannot tell").all()
    said = [s for s in report_of(found).verdict if s.code in ("criteria.agreement", "verdict.shared")]
    assert [s.code for s in said] == ["criteria.agreement", "verdict.shared"]
    assert said[0].values["unsure"] == []


def test_one_criterion_is_no_comparison() -> None:
    with refused(UsageError, "criteria"):
        audit_criteria({"": panel_of(2, 2, 0)})


ASKED = {
    "audit": ("--resamples", 100), "systems": ("--resamples", 100), "compare": ("--resamples", 100),
    "judges": (), "calibrate": ("-o", "out.csv"),
}  # fmt: skip


@pytest.mark.parametrize("shape", [(1, 1, 3), (1, 3, 0), (3, 1, 3)])
def test_check_says_what_each_command_does(cli: Cli, folder: Callable[..., Path], shape: tuple[int, int, int]) -> None:
    """What check says can answer does, what it says cannot is refused; one language or judge is no serious fault."""
    place = folder(*shape)
    found = pj.check(place / "scores.csv")
    able = found.answers.set_index("command")["able"]
    for command, options in ASKED.items():
        words = [place / x if x == "out.csv" else x for x in options]
        code = cli(command, place / "scores.csv", *words).returncode
        assert (code < 2) == bool(able[command]), command
    unable = next(f for f in found.findings if f.code == "check.unable")
    assert unable.severity == "notice"
    assert unable.values["few"] == [x for x, n in (("judge", shape[1]), ("language", shape[0])) if n < 2]


def test_nothing_is_said_of_what_there_is_one_of() -> None:
    one = panel_of(1, 1, 3)
    found = pj.audit(one, threshold=50, resamples=100)
    report = report_of(found, one)
    assert report is not None
    passes = next(s for s in report.verdict if s.code == "inside.passes")
    assert passes.values["cells"] == 1
    assert passes.values["least_pass_low"] < passes.values["least_pass_rate"] < passes.values["least_pass_high"]
    assert next(s for s in report.verdict if s.code == "verdict.inside").values["why"] == "both"
    ranked = report_of(pj.systems(one, resamples=100), one)
    assert ranked is not None
    assert "systems.no-swap" not in [s.code for s in ranked.verdict]
    assert not ranked.unsaid  # the verdict says it, unknown numbers or not
    judges = report_of(pj.systems(panel_of(1, 3, 3), resamples=100))
    assert judges is not None
    still = next(s for s in judges.verdict if s.code == "systems.no-swap")
    assert (still.values["languages"], still.values["judges"]) == (False, True)
    with refused(UsageError, "cell"):
        pj.audit(one, cell=(one.languages[0], one.judges[0]))


def test_means_stand_on_the_first_screen_where_nothing_is_ranked() -> None:
    one = panel_of(3, 1, 0)
    report = report_of(pj.audit(one, resamples=100), one)
    assert report is not None
    assert [(b.name, len(b.frame)) for b in report.picture] == [("means", 3)]  # type: ignore[union-attr]
