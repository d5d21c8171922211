"""Each reader on a tiny file in the layout of its source: values, scale, who said what; and what is not there."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from evidence.readers import READERS, read_all
from evidence.readers.base import Absent
from evidence.sets import Evidence
from polyjudge.second.panel.errors import PanelError


def only(folder: Path) -> list[Evidence]:
    found, absent = read_all(folder)
    assert len(absent) == len(READERS) - 1
    return found


def at(e: Evidence, task: str, system: str, language: str) -> tuple[list[float], list[float]]:
    """Scores by judge and labels by annotator of one item."""
    place = e.tasks.index(task), e.systems.index(system), e.languages.index(language)
    return e.array[place].tolist(), e.raters[place].tolist()


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def test_an_empty_folder_has_nothing_and_says_what_is_lacking(tmp_path: Path) -> None:
    found, absent = read_all(tmp_path)
    assert not found
    assert {source.name for source, _ in absent} == {source.name for source, _ in READERS}
    assert all(why for _, why in absent)
    with pytest.raises(Absent, match="no folder"):
        read_all(tmp_path / "nowhere")


def test_rtplx_of_a_clone(tmp_path: Path) -> None:
    write(
        tmp_path / "RTP-LX/code/llm_eval/prompt/final_results.csv",
        "index,language,metric,gpt4turbo,acs,human1,human2,human3,human_avg\n"
        "0,CS,Toxicity,5,,1,3,5,3\n0,CS,Violence,2,3,1,2,1,1\n0,SW,Violence,3,1,,3,3,3\n",
    )
    toxic, violent = sorted(only(tmp_path), key=lambda e: e.name)
    assert (toxic.name, violent.name) == ("RTP-LX Toxicity", "RTP-LX Violence")
    assert toxic.raters.ravel().tolist() == [0.0, 50.0, 100.0]
    assert violent.judges == ["acs", "gpt4turbo"]
    assert at(violent, "0", "-", "CS") == ([100.0, 50.0], [0.0, 50.0, 0.0])
    scores, labels = at(violent, "0", "-", "SW")
    assert scores == [0.0, 100.0]
    assert labels[:2] == [100.0, 100.0]  # annotators are numbered within their language
    assert violent.makers["acs"] == "Microsoft"


def test_rtplx_as_it_is_kept_for_tests(tmp_path: Path) -> None:
    (tmp_path / "rtplx").mkdir()
    for name, text in (
        ("judge_scores", "task,language,judge,category,score\nt0,AR,ACS,Violence,91\nt0,AR,GPT-4,Violence,50\n"),
        ("human_labels", "task,language,category,annotator,label\nt0,AR,Violence,AR-1,100\nt0,AR,Violence,AR-2,0\n"),
    ):
        with gzip.open(tmp_path / "rtplx" / f"{name}.csv.gz", "wt") as file:
            file.write(text)
    (e,) = only(tmp_path)
    assert at(e, "t0", "-", "AR") == ([91.0, 50.0], [100.0, 0.0])
    assert e.people[0, 0, 0] == 50.0


def test_pariksha_of_a_clone_with_its_two_swapped_languages(tmp_path: Path) -> None:
    root = tmp_path / "PARIKSHA"
    for criterion, score in (("linguistic_acceptability", 2), ("task_quality", 1)):
        item = {"prompt_id": "p1", "prompt": "?", "language": "punjabi", "gpt-4": {"score": score, "justification": ""}}
        write(root / f"gpt_eval/outputs/round1/individual/{criterion}/individual_punjabi.json", json.dumps([item]))
    write(
        root / "karya_eval/round1/individual/gujarati_ratings_output_indi_just.tsv",
        "model\tprompt_id\tworker_id\tling_rating\ttask_rating\thallucination_rating\ngpt-4\tp1\t7\t2\t0\tTrue\n",
    )
    quality, linguistic, task = only(tmp_path)
    assert quality.languages == ["punjabi"]
    assert at(quality, "p1", "gpt-4", "punjabi") == ([75.0], [50.0])
    assert at(linguistic, "p1", "gpt-4", "punjabi") == ([100.0], [100.0])
    assert at(task, "p1", "gpt-4", "punjabi") == ([50.0], [0.0])
    assert not quality.alike


def test_wmt22_judges_with_mqm(tmp_path: Path) -> None:
    base = tmp_path / "mt-metrics-eval-v2" / "wmt22"
    for pair in ("en-de", "en-ru"):
        write(base / f"human-scores/{pair}.mqm.seg.score", "A\t0\nA\t-5\nB\tNone\nB\t-40\n")
        write(base / f"metric-scores/{pair}/GEMBA-Dav3-DA-refA.seg.score", "A\t100\nA\t50\nB\t0\nB\t75\n")
        write(base / f"metric-scores/{pair}/BLEU-refA.seg.score", "A\t1\nA\t1\nB\t1\nB\t1\n")
    (e,) = only(tmp_path)
    assert (e.judges, e.languages, e.makers) == (["Dav3"], ["en-de", "en-ru"], {"Dav3": "OpenAI"})
    assert at(e, "1", "A", "en-de") == ([50.0], [80.0])
    assert at(e, "1", "B", "en-ru") == ([75.0], [0.0])  # no segment loses more than 25
    assert np.isnan(at(e, "0", "B", "en-de")[1][0])


def test_wmt23_metrics_with_mqm(tmp_path: Path) -> None:
    base = tmp_path / "wmt23"
    write(base / "human-scores/zh-en.mqm.seg.score", "A -1\nB -2\n")
    write(base / "metric-scores/zh-en/chrF-refA.seg.score", "A 10\nB 30\n")
    write(base / "metric-scores/zh-en/GEMBA-MQM-src.seg.score", "A -25\nB 0\n")
    (e,) = only(tmp_path)
    assert e.judges == ["GEMBA-MQM", "chrF"]
    assert at(e, "0", "A", "zh-en") == ([0.0, 0.0], [96.0])


def test_basse(tmp_path: Path) -> None:
    lines = [
        {"idx": f"u{i}", "round": 1, "model_summaries": {
            "claude-base": {"summ": "", "anns": {"Coherence": [1.0 + i, 3.0], "Fluency": [5.0]}},
            **({"subhead": {"summ": "", "anns": {"Coherence": [5.0]}}} if i else {}),
        }}
        for i in range(2)
    ]  # fmt: skip
    write(tmp_path / "data/eu/BASSE.eu.jsonl", "\n".join(map(json.dumps, lines)))
    judged = "model,feedback,score\nclaude-base,ok,2\nclaude-base,ok,5\nsubhead,ok,\n"
    write(tmp_path / "pred/judges/eu/gpt-4o/Coherence.csv", judged)
    (e,) = only(tmp_path)
    assert e.name == "BASSE Coherence"
    assert at(e, "u0", "claude-base", "eu") == ([25.0], [0.0, 50.0])
    assert at(e, "u1", "claude-base", "eu") == ([100.0], [25.0, 50.0])
    assert "subhead" not in e.systems  # its score could not be read
    write(tmp_path / "pred/judges/eu/gpt-4o/Coherence.csv", "model,feedback,score\nclaude-base,ok,2\n")
    found, absent = read_all(tmp_path)
    assert not found
    assert any("1 rows of claude-base for 2 documents" in why for _, why in absent)


def test_mrewardbench(tmp_path: Path) -> None:
    write(
        tmp_path / "analysis_1500_item/pilot_complete_panel.csv",
        "item_id,language,evaluator_model,chosen_score,rejected_score\ni1,arb,gpt5_4,10,2\ni1,arb,claude_sonnet_4_6,6,\n",
    )
    (e,) = only(tmp_path)
    assert at(e, "i1", "chosen_score", "arb") == ([50.0, 100.0], [100.0])
    assert np.isnan(at(e, "i1", "rejected_score", "arb")[0][0])
    assert e.makers == {"gpt5_4": "OpenAI", "claude_sonnet_4_6": "Anthropic"}


def test_judge_bench(tmp_path: Path) -> None:
    data = {
        "dataset": "x",
        "annotations": [
            {"metric": "fluency", "category": "graded", "worst": 1, "best": 7},
            {"metric": "kind", "category": "categorical", "worst": 0, "best": 1},
        ],
        "instances": [
            {"id": i, "instance": "...", "annotations": {"fluency": {"individual_human_scores": [1, 7]}},
             "GPT-4": {"fluency": [4]}, "Llama": {"fluency": ["no number"] if i else [7]}}
            for i in range(2)
        ],
    }  # fmt: skip
    write(tmp_path / "results/regular/recipes.json", json.dumps(data))
    (e,) = only(tmp_path)
    assert e.name == "JUDGE-BENCH recipes fluency"
    assert at(e, "0", "-", "en") == ([50.0, 100.0], [0.0, 100.0])
    assert np.isnan(at(e, "1", "-", "en")[0][1])


def test_menlo_needs_judges_beside_it(tmp_path: Path) -> None:
    folder = tmp_path / "menlo" / "data"
    folder.mkdir(parents=True)
    items = {"prompt_id": ["p"], "lang_code": ["sw"], "dimension": ["fluency"], "label_a": [5], "label_b": [2]}
    pd.DataFrame(items).to_parquet(folder / "test-0.parquet")
    _, absent = read_all(tmp_path)
    assert "scores.csv" in next(why for source, why in absent if source.name == "MENLO")
    write(tmp_path / "menlo/scores.csv", "prompt_id,response,judge,score\np,a,J,3\np,b,J,1\n")
    (e,) = only(tmp_path)
    assert e.name == "MENLO fluency"
    assert at(e, "p", "a", "sw") == ([50.0], [100.0])
    assert at(e, "p", "b", "sw") == ([0.0], [25.0])


@pytest.mark.parametrize("wrong", [{"score": 101.0}, {"score": -1.0}])
def test_scores_beyond_the_scale_are_refused(wrong: dict[str, float]) -> None:
    place = {"task": ["t"], "system": ["-"], "language": ["x"]}
    labels = pd.DataFrame({**place, "annotator": ["a"], "label": [3.0]})
    with pytest.raises(PanelError, match="0 to 100"):
        Evidence("bad", pd.DataFrame({**place, "judge": ["j"], **wrong}), labels)
    with pytest.raises(PanelError, match="judge"):
        Evidence("bad", pd.DataFrame({**place, "score": [3.0]}), labels)
