"""The calibrated score in logs of real Inspect runs with mock models."""

from __future__ import annotations

import tomllib
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import polyjudge.second as pj
from polyjudge.second.collect.inspect_scores import score_log
from polyjudge.second.panel.errors import PolyjudgeError, UsageError

pytestmark = pytest.mark.skipif(find_spec("inspect_ai") is None, reason="needs inspect-ai")
JUDGES = ("strict", "mild", "odd")
OFF = {("odd", "de"): 20.0, ("strict", "en"): -4.0, ("mild", "de"): 3.0}


def run(folder: Path, language: str, lost: str | None = None) -> Path:
    """An eval with three graders, as `inspect eval` runs and logs it; `lost`: a sample the odd grader leaves out."""
    from inspect_ai import Task, eval
    from inspect_ai.dataset import Sample
    from inspect_ai.scorer import Score, Scorer, Target, mean, scorer
    from inspect_ai.solver import Generate, Solver, TaskState, solver

    def grader(judge: str) -> Scorer:
        @scorer(metrics=[mean()], name=judge)
        def make() -> Scorer:
            async def score(state: TaskState, target: Target) -> Score:
                shown = 40.0 + 3 * int(str(state.sample_id)[1:]) + OFF.get((judge, language), 0.0)
                return Score(value="unclear" if (judge, state.sample_id) == ("odd", lost) else shown)

            return score

        return make()

    @solver
    def answered() -> Solver:
        """The answers are there: a mock model would want its tokens counted, by a file from the network."""

        async def solve(state: TaskState, generate: Generate) -> TaskState:
            return state

        return solve

    samples = [Sample(id=f"t{i}", input="?", target="x", metadata={"language": language}) for i in range(6)]
    task = Task(name=f"quality_{language}", dataset=samples, solver=answered(), scorer=[grader(j) for j in JUDGES])
    logs: Any = eval(task, model="mockllm/model", log_dir=str(folder), display="none")
    return Path(str(logs[0].location).removeprefix("file://"))


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("logs")
    return {language: run(folder, language) for language in ("en", "de")}


@pytest.fixture(scope="module")
def panel(logs: dict[str, Path]) -> pj.Panel:
    return pj.read_panel(logs["en"].parent)


@pytest.fixture(scope="module")
def saved(panel: pj.Panel, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("saved") / "cal.json"
    pj.ConsensusCalibrator().fit(panel).save(path)
    return path


def test_the_score_is_the_mean_of_what_transform_gives(logs: dict[str, Path], saved: Path, tmp_path: Path) -> None:
    from inspect_ai.log import read_eval_log

    cal, before = pj.load_calibrator(saved), logs["de"].read_bytes()
    done = score_log(logs["de"], saved, tmp_path / "new" / "de.eval")
    assert (done.scored, done.left_out) == (6, 0)
    assert logs["de"].read_bytes() == before
    log = read_eval_log(str(done.path))
    for sample in log.samples:
        each = [cal.transform(sample.scores[j].value, language="de", judge=j) for j in JUDGES]
        assert np.allclose(list(sample.scores["calibrated"].metadata["judges"].values()), each)
        assert np.isclose(sample.scores["calibrated"].value, np.mean(each))
        assert len(sample.scores) == 4
    metrics = log.results.scores[-1].metrics
    values = [sample.scores["calibrated"].value for sample in log.samples]
    assert np.isclose(metrics["mean"].value, np.mean(values))
    assert np.isclose(metrics["stderr"].value, np.std(values, ddof=1) / np.sqrt(6))


@pytest.mark.usefixtures("read_here")
def test_the_new_score_is_not_read_as_a_judge(
    logs: dict[str, Path], panel: pj.Panel, saved: Path, tmp_path: Path
) -> None:
    for language, log in logs.items():
        score_log(log, saved, tmp_path / f"{language}.eval")
    again = pj.read_panel(tmp_path)
    assert sorted(again.judges) == sorted(JUDGES)
    cells = ["task", "language", "judge"]
    assert again.to_long().sort_values(cells)["score"].tolist() == panel.to_long().sort_values(cells)["score"].tolist()


def test_nothing_is_replaced_unless_asked(logs: dict[str, Path], saved: Path, tmp_path: Path) -> None:
    copy = tmp_path / "de.eval"
    copy.write_bytes(logs["de"].read_bytes())
    with pytest.raises(UsageError):
        score_log(copy, saved, copy)
    assert copy.read_bytes() == logs["de"].read_bytes()
    assert score_log(copy, saved, copy, overwrite=True).scored == 6
    assert score_log(copy, saved, copy, overwrite=True).scored == 6
    with pytest.raises(UsageError):
        score_log(copy, saved, tmp_path / "other.eval", name="odd")


def test_a_sample_without_one_grader_gets_no_score(saved: Path, tmp_path: Path) -> None:
    from inspect_ai.log import read_eval_log

    done = score_log(run(tmp_path / "logs", "de", lost="t3"), saved, tmp_path / "de.eval")
    assert (done.scored, done.left_out) == (5, 1)
    lacking = [s.id for s in read_eval_log(str(done.path)).samples if "calibrated" not in s.scores]
    assert lacking == ["t3"]


def test_a_language_the_calibrator_does_not_know(saved: Path, tmp_path: Path) -> None:
    with pytest.raises(PolyjudgeError):
        score_log(run(tmp_path / "logs", "fr"), saved, tmp_path / "fr.eval")
    assert not (tmp_path / "fr.eval").exists()


def test_the_hook_writes_the_score_back_after_each_eval(
    saved: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Inspect finds the hook by the entry point of the package; here it is imported, as that does."""
    from importlib import import_module

    from inspect_ai.log import read_eval_log

    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    module = import_module(project["entry-points"]["inspect_ai"]["polyjudge"])
    plain = read_eval_log(str(run(tmp_path / "plain", "de")))
    assert all("calibrated" not in sample.scores for sample in plain.samples)
    monkeypatch.setenv(module.CALIBRATOR, str(saved))
    log = read_eval_log(str(run(tmp_path / "logs", "de")))
    by_hand = read_eval_log(str(score_log(plain.location, saved, tmp_path / "de.eval").path))
    values = [[sample.scores["calibrated"].value for sample in x.samples] for x in (log, by_hand)]
    assert values[0] == values[1]
    assert log.results.scores[-1].metrics["mean"].value == by_hand.results.scores[-1].metrics["mean"].value
    unknown = read_eval_log(str(run(tmp_path / "logs", "fr")))  # not in the calibrator: a warning, and the log stays
    assert unknown.status == "success"
    assert all(set(sample.scores) == set(JUDGES) for sample in unknown.samples)
