"""The DevAI part: every published number computed again, tables, figures, page and command."""

from __future__ import annotations

import json
import re
import resource
import runpy
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from test_reproduce_ledger import numbers
from test_reproduce_sources import panel_file  # noqa: F401  # a fixture

import polyjudge.second as pj
from conftest import SHARED, shared_file
from polyjudge.second import cli
from polyjudge.second.estimate.kernels import double_centre
from polyjudge.second.panel.arrays import Array
from polyjudge.second.panel.errors import UsageError
from polyjudge.second.paper import Reproduction, published
from polyjudge.second.paper import devai as devai_part
from polyjudge.second.paper import inputs as sources
from polyjudge.second.paper.devai import Findings, analyse, answer, requirements_behind
from polyjudge.second.paper.ledger import settle
from polyjudge.second.paper.printed import Table, latex_text, markdown_text, shown
from polyjudge.second.paper.run import reproduce, write
from refusals import lacks

ROOT = Path(__file__).parents[2]
Call = Callable[..., tuple[int, str, str]]
Cli = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def call(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Call:
    """Run the command in this process: exit code, standard output, standard error."""

    def run(*arguments: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["polyjudge", *map(str, arguments)])
        with pytest.raises(SystemExit) as stop:
            cli.main()
        out, err = capsys.readouterr()
        return int(stop.value.code or 0), out, err

    return run


@pytest.fixture(scope="module")
def both(like: Callable[[str], Path]) -> tuple[Reproduction, Findings]:
    """From the released files, or stand-ins for them; and what was computed on the way."""
    kept: list[Findings] = []

    def keep(*given: Any) -> Findings:
        kept.append(analyse(*given))
        return kept[0]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(devai_part, "analyse", keep)
        result = reproduce(
            "devai",
            like("data/devai/run_level_scores.csv"),
            labels=like("data/devai/human_labels.csv"),
            instances=like("data/devai/instances.jsonl"),
        )
    return result, kept[0]


@pytest.fixture(scope="module")
def result_like(both: tuple[Reproduction, Findings]) -> Reproduction:
    return both[0]


@pytest.fixture(scope="module")
def result(devai_path: Path, result_like: Reproduction) -> Reproduction:
    return result_like


@pytest.fixture(scope="module")
def rows(result: Reproduction) -> pd.DataFrame:
    return result.ledger.rows.set_index("key")


def test_every_published_number_has_its_row(rows: pd.DataFrame) -> None:
    wanted = numbers(json.loads(shared_file("published/devai.json").read_text()))
    for path, value in wanted.items():
        assert rows.loc[" > ".join(path), "published"] == value


def test_readable_repr(result: Reproduction) -> None:
    assert str(len(result.ledger.rows)) in repr(result).replace(",", "")
    assert result.to_html() is not None


def test_nothing_differs_and_only_what_is_not_released_is_left_out(rows: pd.DataFrame) -> None:
    assert rows.index[rows["verdict"] == "differs"].tolist() == []
    lacking = rows.index[rows["verdict"] == "needs data"]
    assert all(re.match(r"requirement_types > \w+ > (raw|cbc)|cost > \w+ > [123]$", key) for key in lacking)
    assert rows.loc[lacking, "reading"].ne("").all()


def test_verdicts_of_what_does_not_hold(rows: pd.DataFrame) -> None:
    identities = [
        "held_out > methods > cbc > 3",
        *(f"held_out > methods > {m} > {i}" for m in ("oracle", "cbc-weighted", "per-language norm") for i in range(4)),
        "ablation_judges > sd > 4",
    ]
    assert set(rows.loc[identities, "verdict"]) == {"identity"}
    artefacts = ["bound > radius", "bound > sigma_all_scores", "bound > tasks_for_half_of_max_beta"]
    artefacts += [f"rank_reversal > rows > {i} > 3" for i in (7, 10)]
    assert set(rows.loc[artefacts, "verdict"]) == {"artefact"}
    assert set(rows[rows.index.str.startswith("decisions > cbc")]["verdict"]) == {"reproduced"}
    for key in artefacts:
        assert rows.loc[key, "corrected"]
        assert rows.loc[key, "reading"]


def test_corrected_values(result: Reproduction, rows: pd.DataFrame, devai: pj.Panel) -> None:
    """Against direct formulas, not against the code that wrote them."""
    deviations = double_centre(devai.scores)
    beta = deviations.mean(axis=0)
    sigma = np.sqrt(((deviations - beta) ** 2).sum() / (54 * 7 * 5))
    radius = sigma * np.sqrt(2 * (7 / 8) * (5 / 6) * np.log(2 * 48 / 0.05) / 55)
    assert f"{radius:.2f} with the noise's sigma" in rows.loc["bound > radius", "corrected"]
    assert rows.loc["bound > sigma_all_scores", "corrected"].startswith(f"{sigma:.2f} ")
    needed = int(np.ceil(55 * (radius / (np.abs(beta).max() / 2)) ** 2))
    assert rows.loc["bound > tasks_for_half_of_max_beta", "corrected"].startswith(f"{needed} ")
    assert "in sample 30.745" in rows.loc["held_out > methods > cbc > 0", "corrected"]
    assert f"{(beta**2).mean():.3f}" == "30.745"
    assert rows.loc["rank_reversal > reversing_pairs", "corrected"].startswith("5 of 15 hold")
    assert "does not hold" in rows.loc["rank_reversal > rows > 10 > 3", "corrected"]
    claims = {c.claim: c for c in result.corrections}
    assert claims["Pairs of judges that reverse significantly"].correct.startswith("5 of 15")
    assert "above 0 in 100.0% of resamples" in claims["Rank consistency"].correct
    assert "1 with Gemini" in claims["Which pairs reverse"].correct


def test_published_draws_give_the_published_digits(rows: pd.DataFrame) -> None:
    """Where only the draws are random, the published seeds leave nothing but rounding."""
    same = [
        *(f"held_out > methods > dawid-skene > {i}" for i in range(4)),
        *(f"information > {x}" for x in ("null_mean", "debiased", "interval > 0", "interval > 1")),
        "held_out > methods > ensemble > 1",
        "held_out > methods > ensemble > 2",
        "held_out > methods > cbc > 0",
        "held_out > methods > combat-eb > 0",
        "held_out > methods > random control > 3",
        "decisions > raw > accuracy",
        "unseen_language > zero_shot > overall",
        "ablation_judges > tau > 2",
        "ablation_tasks > mean_abs_beta_error > 0",
    ]
    assert (rows.loc[same, "computed"] - rows.loc[same, "published"]).abs().max() < 1e-6


def test_other_draws_agree_within_monte_carlo_error(devai_path: Path) -> None:
    result = reproduce("devai", devai_path, seed=11)
    assert result.ledger.counts["differs"] == 0
    own = result.ledger.rows.set_index("key")
    assert own.loc["held_out > methods > cbc > 0", "difference"] != 0
    sd = published.data("scatter")["sd"]["held_out > methods > cbc > 0"]
    assert 0.0005 < sd < 0.01
    assert own.loc["held_out > methods > cbc > 0", "tolerance"] == pytest.approx(0.0005 + 4 * 2**0.5 * sd)
    assert own.loc["fit > r2_full", "tolerance"] == 0.0005
    assert "seed 11" in result.notes[0]


def test_the_measured_scatter_is_that_of_draws(devai: pj.Panel) -> None:
    """Against three seeds of its own: of the order of the stored one, and only random numbers have any."""
    few = runpy.run_path(str(ROOT / "benchmarks/scatter.py"))["scatter"](devai, range(5, 8))
    known = published.data("scatter")["sd"]
    assert not any(key.startswith(("fit", "bound", "beta_hat", "rank_reversal")) for key in known)
    ratio = np.array([few[k] / known[k] for k in known if k in few])
    assert 0.5 < np.median(ratio) < 1.5


def shuffled(scores: Array) -> Array:
    out = scores.copy()
    out[:, :, 0] = np.random.default_rng(1).permutation(out[:, :, 0].ravel()).reshape(out[:, :, 0].shape)
    return out


def unpaired(scores: Array) -> Array:
    """Another order of the tasks in each cell: every mean stays, and so the file check is blind to it."""
    rng = np.random.default_rng(2)
    return np.stack(
        [[scores[rng.permutation(len(scores)), i, j] for j in range(6)] for i in range(8)], axis=0
    ).transpose(2, 0, 1, 3)


def lenient(scores: Array) -> Array:
    """A judge that gives everything five points more: no interaction changes."""
    return scores + 5.0 * (np.arange(6) == 3)[None, None, :, None]


def other_frameworks(scores: Array) -> Array:
    """Frameworks swapped in half of the tasks: task scores stay, single scores do not."""
    out = scores.copy()
    out[::2] = out[::2, :, ::-1][:, :, ::-1, [1, 0, 2]]
    return out


def one_language_harder(scores: Array) -> Array:
    return scores - 4.0 * (np.arange(8) == 2)[None, :, None, None]


@pytest.mark.parametrize("corrupt", [shuffled, unpaired, lenient, other_frameworks, one_language_harder])
def test_corrupted_scores_are_seen(devai_path: Path, corrupt: Callable[[Array], Array]) -> None:
    panel = sources.devai_panel(devai_path)
    assert panel.replicate_scores is not None
    axes = (panel.tasks, panel.languages, panel.judges, panel.replicates)
    wrong = pj.Panel.from_array(corrupt(panel.replicate_scores), *axes, declared_range=(-20.0, 120.0))
    ledger = settle("devai", answer(analyse(wrong)))
    assert ledger.counts["differs"] > 0
    if corrupt is shuffled:  # most of what is computed
        computed = ledger.rows[ledger.rows["verdict"].isin(["reproduced", "artefact", "differs", "file check"])]
        assert (computed["verdict"] == "differs").mean() > 0.6
        assert ledger.counts["file check"] == 0


def test_a_corrupted_file_is_refused_or_differs(call: Call, devai_like_path: Path, tmp_path: Path) -> None:
    """Through the command: other cells are refused, the same cells from other scores differ."""
    table = pd.read_csv(devai_like_path)
    for name, change, code in (
        ("one.csv", table.assign(score=table["score"].where(table.index != 77, 0.0)), 2),
        ("tasks.csv", table.assign(score=_other_tasks(table)), 1),
    ):
        change.to_csv(tmp_path / name, index=False)
        got, out, _ = call("paper", "reproduce", "devai", "--data", tmp_path / name, "--json")
        assert got == code
    told = json.loads(out)
    assert told["benchmark"] == "devai"
    assert len(told["ledger"]) == sum(told["counts"].values()) > 300
    assert told["ledger"][0].keys() >= {"place", "published", "computed", "difference", "tolerance", "verdict"}


def _other_tasks(table: pd.DataFrame) -> pd.Series:
    rng = np.random.default_rng(3)
    return table.groupby(["backbone", "language", "framework"])["score"].transform(
        lambda x: rng.permutation(x.to_numpy())
    )


def test_a_wrong_number_is_seen(
    devai_path: Path, both: tuple[Reproduction, Findings], monkeypatch: pytest.MonkeyPatch
) -> None:
    book = published.load("devai")
    book["held_out"]["methods"]["cbc"][0] += 0.001
    book["fit"]["r2_full"] += 0.001
    book["rank_reversal"]["rows"][0][4] = "Hindi"
    monkeypatch.setattr(published, "load", lambda name: book if name == "devai" else {"panel": _sizes()})
    wrong = settle("devai", answer(both[1])).differs["key"].tolist()
    assert wrong == ["rank_reversal > rows > 0 > 4", "fit > r2_full", "held_out > methods > cbc > 0"]


def _sizes() -> dict[str, object]:
    return {"items_per_language": 1500, "languages": list("abcdefg"), "judges": list("abcde")}


def test_requirements_read_off_the_scores(devai: pj.Panel) -> None:
    assert requirements_behind(devai) == 365
    scores = np.array([0.0, 100 / 3, 50.0, 100.0]).reshape(1, 2, 2, 1)
    halves = np.array([0.0, 50.0, 50.0, 100.0]).reshape(1, 2, 2, 1)
    assert requirements_behind(pj.Panel.from_array(np.concatenate([scores, halves]))) == 6 + 2


# --- tables ---


def test_tables(result: Reproduction) -> None:
    names = [t.name for t in result.tables]
    assert names == [
        "rank_reversal",
        "calibration",
        "decisions",
        "unseen_language",
        "ablation_judges",
        "ablation_tasks",
        "cost",
        "follow_up",
        "human_labels",
    ]
    table = result.tables[1]
    assert len(table.frame) == 12
    assert "| cbc | 0.902 | 0.795 | 0.968 | 1.000 | 0.902 | 0.795 | 0.968 | 1.000 | 29.18 |" in table.markdown()
    assert "cbc & 0.902 & 0.795 & 0.968 & 1.000 & 0.902" in table.latex()
    assert table.latex().count(" \\\\") == 13


def test_hostile_labels_stay_text() -> None:
    name = "=cmd()|<img src=x> 50%_$x^{2}~#&\\ [a](b) `c`"
    table = Table("t", "50% of $5", pd.DataFrame({"judge": [name, "b\nc"], "x": [1.23456, None]}), {"x": 2})
    assert table.csv().splitlines()[1].startswith("'=cmd()")
    (first, second) = table.markdown().splitlines()[4:6]
    assert len(re.findall(r"(?<!\\)\|", first)) == 3
    assert "<img" not in re.sub(r"\\<", "", first)
    assert "1.23" in first
    assert "\\n" in second
    assert second.endswith("| – |")
    line = table.latex().splitlines()[9]
    assert line.count(" & ") == 1
    assert re.sub(r"\\[&%$#_{}]|\\text\w+\{\}", "", line.split(" & ")[0]) == "=cmd()img src=x 50x2 [a](b) `c`"
    assert "50\\% of \\$5" in table.latex()
    assert markdown_text("a_b") == "a\\_b"
    assert latex_text("–") == "--"


def test_numbers_as_shown() -> None:
    assert [shown(x, 3) for x in (0.12345, -0.0001, None, float("nan"))] == ["0.123", "0.000", "–", "–"]
    assert [shown(x, "p") for x in (1.0, 0.0119, 9.7e-8)] == ["1", "0.0119", "9.7e-08"]
    assert [shown(x) for x in (7, 7.0, True, "x", 0.123456)] == ["7", "7", "True", "x", "0.1235"]


# --- figures ---


def test_figures_say_what_they_show(result: Reproduction) -> None:
    text = {name: json.dumps(draw().to_dict()) for name, draw in result.figures.items()}
    for name, words in {
        "interaction_heatmap": ["judge", "language", "points"],
        "ranks_before_after": ["language", "rank by mean score", "alike by arithmetic"],
        "reversal_strength": ["reversal strength (points squared)", "holds after selection", "only as published"],
        "convergence": ["number of tasks", "score points (log scale)", "as published", "sigma of the noise"],
    }.items():
        for word in words:
            assert word in text[name]
    heat = result.figures["interaction_heatmap"]().to_dict()
    low, middle, high = heat["layer"][0]["encoding"]["color"]["scale"]["domain"]
    assert (middle, -low) == (0, high)
    assert high == pytest.approx(20.605825, abs=1e-6)


# --- files, page and command ---


def test_two_runs_write_the_same_bytes(
    run_cli: Cli, like: Callable[[str], Path], devai_like_path: Path, result_like: Reproduction, tmp_path: Path
) -> None:
    begin = resource.getrusage(resource.RUSAGE_CHILDREN)
    beside = ("--labels", like("data/devai/human_labels.csv"), "--instances", like("data/devai/instances.jsonl"))
    first = run_cli("paper", "reproduce", "devai", "--data", devai_like_path, *beside, "-o", tmp_path / "one")
    end = resource.getrusage(resource.RUSAGE_CHILDREN)
    # Processor time, because other work on the machine must not decide. It is about 9 s.
    assert end.ru_utime + end.ru_stime - begin.ru_utime - begin.ru_stime < 60
    real = devai_like_path.is_relative_to(SHARED)  # a stand-in has the published interaction and no other number
    assert first.returncode == (0 if real else 1), first.stderr
    assert bool(re.search(r"differs +0 ", first.stdout)) == real, first.stdout
    write(result_like, tmp_path / "two", [])
    written = {p.relative_to(tmp_path / "two") for p in (tmp_path / "two").rglob("[!.]*") if p.is_file()}
    assert len(written) == 4 + 9 * 3
    same = {p for p in written if p.name != "report.html"}  # the page names its command
    assert all((tmp_path / "one" / p).read_bytes() == (tmp_path / "two" / p).read_bytes() for p in same)
    begins = {".svg": b"<svg", ".png": b"\x89PNG", ".pdf": b"%PDF"}
    drawn = sorted((tmp_path / "one" / "figures").iterdir())
    assert len(drawn) == 4 * 3
    assert [p.read_bytes()[:4] for p in drawn] == [begins[p.suffix] for p in drawn]


def test_exit_1_when_something_differs(call: Call, panel_file: Path, tmp_path: Path) -> None:  # noqa: F811
    """A panel with the published means but other items: the matrices agree, what depends on single items does not."""
    code, out, _ = call("paper", "reproduce", "mrewardbench", "--data", panel_file, "-o", tmp_path, "--figures", "none")
    assert code == 1
    rows = pd.read_csv(tmp_path / "ledger.csv").set_index("key")
    assert not lacks(out, int((rows["verdict"] == "differs").sum()))
    assert set(rows[rows.index.str.match("beta_hat|raw_mean_margin|panel")]["verdict"]) == {"reproduced", "label"}
    assert rows.loc["held_out > cbc > 0", "verdict"] == "differs"
    assert "label-free accuracy gain on left-out items" in rows.loc["held_out > cbc > 0", "corrected"]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["devai", "--data", "absent.csv"], "no file absent.csv"),
        (["devai", "--anchor", "x.csv"], "belongs to M-RewardBench"),
        (["devai", "--offline"], "--data FILE"),
        (["devai"], "Is there a network?"),
        (["mrewardbench"], "--offline"),
        (["mrewardbench", "--offline", "--anchor", "absent.csv"], "no file absent.csv"),
        (["mrewardbench", "--offline", "-o", "out", "--figures", "gif"], "svg, png, pdf"),
        (["gsm8k"], "devai"),
    ],
)
def test_bad_input_is_one_paragraph(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], says: str
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("POLYJUDGE_CACHE", "cache")
    for name in ("HTTPS_PROXY", "https_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    code, _, err = call("paper", "reproduce", *arguments)
    assert code == 2
    assert says in err
    assert "Traceback" not in err
    assert [p.name for p in tmp_path.rglob("*") if p.is_file()] == []


def test_the_page_is_up_to_date(result: Reproduction, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("POLYJUDGE_CACHE", str(tmp_path))
    sample = shared_file("data/mrewardbench/human_anchor_sample.csv")
    page = runpy.run_path(str(ROOT / "docs/make_reproduce.py"))["page"]
    text = page(result, reproduce("mrewardbench", anchor=sample, offline=True))
    stored = (Path(__file__).parents[2] / "docs" / "reproduce.md").read_text(encoding="utf-8")
    assert text == stored, "run docs/make_reproduce.py"


def test_writing_refuses_unknown_formats_before_anything_is_written(result_like: Reproduction, tmp_path: Path) -> None:
    with pytest.raises(UsageError):
        write(result_like, tmp_path / "out", ["svg", "bmp"])
    assert not (tmp_path / "out").exists()
