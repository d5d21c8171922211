"""Files whose meaning is easily missed, cause by cause: each gives the true panel, a note that names the doubt, or a
refusal that offers the right reading."""

# ruff: noqa: E501

from __future__ import annotations

import bz2
import json
import lzma
import zipfile
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest

from common import workbook
from polyjudge.base.errors import PolyjudgeError
from polyjudge.panel import Panel
from polyjudge.read import explain, read_panel
from polyjudge.read.table import connect, engine_errors

N = 60
G = np.random.default_rng(7)
TRUTH = G.integers(1, 6, N)
TASKS = [f"q{i}" for i in range(N)]


def judge(seed: int, low: int = 1, high: int = 5, noise: float = 0.7) -> Any:
    """Scores of a judge that sees the truth."""
    g = np.random.default_rng(seed)
    spread = (TRUTH - 1) / 4 * (high - low) + low + g.normal(0, noise * (high - low) / 4, N)
    return np.clip(np.round(spread), low, high).astype(int)


GPT, CLAUDE, GEMINI = (judge(s) for s in (1, 2, 3))
WIDE = pd.DataFrame({"task": TASKS, "gpt": GPT, "claude": CLAUDE, "gemini": GEMINI})
LONG = WIDE.melt(id_vars="task", var_name="judge", value_name="score")
SYSTEMS = pd.DataFrame([(t, s) for t in TASKS for s in ("x", "y", "z")], columns=["task", "system"])
RATED = SYSTEMS.assign(judge="gpt", score=np.clip(np.repeat(TRUTH, 3) + np.tile([0, 1, -1], N), 1, 5))
OWN = np.random.default_rng(3).integers(0, 2, 3 * N)


class Case(NamedTuple):
    """A file and what is right: the panel's shape and labels, words of a note, or words of a refusal."""

    source: Any
    refused: tuple[str, ...] = ()
    note: str = ""
    shape: tuple[int, int, int, int] | None = None
    judges: tuple[str, ...] | None = None
    options: dict[str, Any] | None = None
    human: bool | None = None


def people(column: str, values: Any = None, base: pd.DataFrame = WIDE) -> pd.DataFrame:
    return base.assign(**{column: np.random.default_rng(9).integers(1, 6, len(base)) if values is None else values})


def noise(seed: int = 11, low: int = 1, high: int = 5) -> Any:
    return np.random.default_rng(seed).integers(low, high + 1, N)


def status(words: Any) -> pd.DataFrame:
    return LONG.assign(status=words)


J3 = ("claude", "gemini", "gpt")
SHAPE = (N, 1, 1, 3)
LATE = np.arange(len(LONG)) >= 90
MERGED = LONG.assign(score=np.where(LATE, LONG["score"] * 20, LONG["score"]))
MERGED = MERGED.assign(task=np.where(LATE, MERGED["task"] + "b", MERGED["task"]))
CASES: dict[str, Case] = {
    # people
    **{f"people: {c} may be people's": Case(people(c), note=f"Column {c} could be people's: --human {c}", judges=J3, human=False) for c in ("label", "gold", "ground_truth", "expected", "expert", "gold_label", "expert_rating", "reference_score", "true_label")},
    **{f"people: {c} are people's": Case(people(c), judges=J3, human=True) for c in ("human", "human_score", "annotator_1", "people", "Human Rating")},
    "people: a label that follows from the score": Case(people("human_pass", (GPT >= 4) * 1), note="it follows from gpt", human=False),
    "people: a copy of a judge": Case(people("human_score", GPT), note="it follows from gpt", human=False),
    "people: a rounded judge": Case(people("human_grade", CLAUDE // 2), note="it follows from claude", human=False),
    "people: said of the judge's score": Case(people("human_correct", np.random.default_rng(1).integers(0, 2, len(LONG)), LONG), note="differs between judges", human=False),
    "people: agreed or not with each verdict": Case(people("human_agrees", np.random.default_rng(2).choice(["yes", "no"], len(LONG)), LONG), judges=J3, human=False),
    "people: an answer key": Case(RATED.assign(human_label=np.repeat(TRUTH, 3)), note="same for all systems", human=False),
    "people: an answer key in words": Case(RATED.assign(human_label=np.repeat(np.where(TRUTH > 3, "yes", "no"), 3)), note="same for all systems", human=False),
    "people: labels of answers": Case(RATED.assign(human_label=OWN), human=True),
    "people: an expert model among the judges": Case(LONG.replace({"judge": {"gpt": "expert-7b"}}), judges=("claude", "expert-7b", "gemini"), human=False),
    "people: a column says which judges are": Case(LONG.assign(type=np.where(LONG["judge"] == "gpt", "llm", "human")), note="type calls claude and gemini people. If so: --human-judges claude,gemini", judges=J3, human=False),
    "people: a column says it of answers": Case(LONG.assign(origin=np.where(np.arange(180) % 2, "model", "human")), judges=J3, human=False),
    **{f"people: {c} could be people's": Case(people(c), note=f"Column {c} could be people's: --human {c}", judges=J3, human=False) for c in ("human_eval_score", "annotator_impression", "people_say")},
    # score
    **{f"score: {c} beside score": Case(LONG.assign(**{c: LONG["score"] * 1.5}), refused=("score and " + c, f"--score {c}")) for c in ("revised_score", "total_score", "score_v2", "z_score", "raw_score", "rating_normalized")},
    "score: not the highest possible": Case(LONG.assign(max_score=5), judges=J3),
    "score: not its spread": Case(LONG.assign(score_std=np.linspace(0, 1, len(LONG))), judges=J3),
    "score: not its count": Case(LONG.assign(n_scores=3, score_threshold=4), judges=J3),
    "score: contexts do not hold it": Case([{"id": t, "judge": "gpt", "score": int(s), "contexts": [{"text": "a", "score": 0.9}, {"text": "b", "score": 0.4}]} for t, s in zip(TASKS, GPT, strict=True)], shape=(N, 1, 1, 1)),
    "score: a verdict beside sources": Case([{"id": t, "correct": bool(s > 3), "sources": [{"url": "a", "score": 0.9}]} for t, s in zip(TASKS, GPT, strict=True)], shape=(N, 1, 1, 1)),
    "score: passed beside candidates": Case([{"id": t, "passed": bool(s > 3), "candidates": [{"model": "m", "score": 0.9}, {"model": "n", "score": 0.2}]} for t, s in zip(TASKS, GPT, strict=True)], shape=(N, 1, 1, 1), note="score of its own (passed)"),
    "score: none but in contexts": Case([{"id": t, "answer": "so", "contexts": [{"text": "a", "score": 0.9}]} for t in TASKS], refused=("no column of scores",)),
    "score: judgments hold it": Case([{"id": t, "judgments": [{"judge": "a", "score": int(a)}, {"judge": "b", "score": int(b)}]} for t, a, b in zip(TASKS, GPT, CLAUDE, strict=True)], shape=(N, 1, 1, 2)),
    "score: records of records": Case([{"id": t, "result": {"score": int(s)}} for t, s in zip(TASKS, GPT, strict=True)], shape=(N, 1, 1, 1)),
    "score: a document with flags and two lists": Case(json.dumps({"dataset": "d", "original_prompt": False, "metrics": [{"name": "m", "kind": "k"}], "instances": [{"id": t, "gpt": int(a), "claude": int(b)} for t, a, b in zip(TASKS, GPT, CLAUDE, strict=True)]}), shape=(N, 1, 1, 2)),
    "score: a document of labels and flags": Case(json.dumps({"dataset": "d", "expert_annotator": "true", "original_prompt": False, "instances": [{"id": t, "annotations": {"grammar": {"majority_human": "Yes" if s > 3 else "No"}}} for t, s in zip(TASKS, GPT, strict=True)]}), refused=("human labels", "no scores of a judge")),
    "score: a document with a count": Case(json.dumps({"dataset": "d", "n": 3, "version": 1.5, "items": [{"id": t, "gpt": int(s)} for t, s in zip(TASKS, GPT, strict=True)]}), shape=(N, 1, 1, 1), judges=("gpt",)),
    "score: a list for each judge": Case(json.dumps({"dataset": "d", "gpt": [{"task": t, "score": int(s)} for t, s in zip(TASKS, GPT, strict=True)], "claude": [{"task": t, "score": int(s)} for t, s in zip(TASKS, CLAUDE, strict=True)]}), refused=("2 lists of scores", "gpt and claude")),
    "score: an overall rating": Case(LONG.rename(columns={"score": "overall_rating"}), judges=J3, shape=SHAPE),
    "score: decimal points and commas": Case(LONG.assign(score=[f"{s}.5" if i % 2 else f"{s},5" for i, s in enumerate(LONG["score"])]), refused=("not a number",)),
    # judge columns
    **{f"judges: {c} on other levels": Case(WIDE.assign(**{c: v}), note=f"{c} is not read as a judge", judges=J3) for c, v in (("bleu", np.random.default_rng(1).random(N) * 100), ("upvotes", noise(high=90)), ("topic", noise(low=0, high=9)), ("rouge", np.random.default_rng(2).random(N)), ("views", noise(high=9000)))},
    **{f"judges: {c} says the same": Case(WIDE.assign(**{c: v}), note=f"{c} is not read as a judge", judges=J3) for c, v in (("qwen", 1), ("mistral", 4), ("llama", 5))},
    **{f"judges: {c} is a setting": Case(WIDE.assign(**{c: v}), judges=J3) for c, v in (("stddev", noise()), ("variance", noise()), ("count", noise()), ("k", noise()), ("do_sample", [True, False] * 30), ("temperature", noise()), ("max_tokens", noise()))},
    "judges: none but noise stays": Case(pd.concat([WIDE.assign(mistral=noise(i), task=WIDE["task"] + f"-{i}", gpt=judge(i + 20), claude=judge(i + 40), gemini=judge(i + 60)) for i in range(20)]), judges=("claude", "gemini", "gpt", "mistral"), note="mistral agrees with no other column: if it is no judge, --judges gpt,claude,gemini"),
    "judges: languages with Indonesian": Case(WIDE.rename(columns={"gpt": "en", "claude": "id", "gemini": "th"}).assign(vi=GPT), shape=(N, 1, 4, 1)),
    "judges: languages, task_id": Case(WIDE.rename(columns={"task": "task_id", "gpt": "no", "claude": "id", "gemini": "is"}), shape=(N, 1, 3, 1)),
    "judges: languages without Indonesian": Case(WIDE.rename(columns={"gpt": "en", "claude": "de", "gemini": "th"}), shape=(N, 1, 3, 1)),
    "judges: checkboxes that exclude each other": Case(pd.DataFrame({"task": TASKS} | {c: (noise(4, 0, 4) == i) * 1 for i, c in enumerate(("grammar_error", "off_topic", "made_up"))}), refused=("--criteria grammar_error,off_topic,made_up",)),
    "judges: rare checkboxes": Case(pd.DataFrame({"task": TASKS} | {c: (noise(30 + i, 0, 9) == 0) * 1 for i, c in enumerate(("spelling", "toxic", "cut_off", "refusal_x"))}), refused=("--criteria spelling,toxic",)),
    "judges: one box a row": Case(pd.DataFrame({"case": TASKS} | {c: (noise(5, 0, 3) == i) * 1 for i, c in enumerate(("hallucination", "omission", "addition", "fine"))}), refused=("--criteria hallucination,omission",)),
    **{f"judges: two columns on two scales, {c}": Case(pd.DataFrame({"question": TASKS, "gpt": GPT, c: v}), refused=("--score gpt", f"--score {c}")) for c, v in (("retrieval", np.random.default_rng(2).random(N)), ("upvotes", noise(high=90)), ("z", noise(low=-40, high=40)))},
    "judges: that pass or fail": Case(pd.DataFrame({"task": TASKS, "gpt": (GPT > 3) * 1, "claude": (CLAUDE > 3) * 1, "gemini": (GEMINI > 3) * 1}), judges=J3),
    "judges: fields of one record": Case([{"task": t, "judges": {"gpt": {"score": int(a), "why": "so"}, "claude": {"score": int(b), "why": "so"}, "gemini": {"score": int(c), "why": ""}}} for t, a, b, c in zip(TASKS, GPT, CLAUDE, GEMINI, strict=True)], judges=J3, shape=SHAPE),
    "judges: fields of a record of numbers": Case([{"task": t, "ratings": {"gpt": int(a), "claude": int(b)}} for t, a, b in zip(TASKS, GPT, CLAUDE, strict=True)], judges=("claude", "gpt")),
    **{f"judges: {c} is the mean of the others": Case(WIDE.assign(**{c: np.round((GPT + CLAUDE + GEMINI) / 3, digits)}), judges=J3, note=f"{c} is not read as a judge: it is the mean") for c, digits in (("Ø", 2), ("jury", 1), ("x", 9))},
    "judges: a judge and a system in each name": Case(WIDE.set_axis(["task", "gpt_A", "gpt_B", "claude_A"], axis=1).assign(claude_B=GPT), shape=(N, 1, 1, 4), note="gpt and claude, each with A and B"),
    "judges: a language model of each size": Case(WIDE.set_axis(["task", "gpt_a", "gpt_b", "claude_c"], axis=1), shape=SHAPE),
    "judges: chosen beside rejected": Case(pd.DataFrame({"task": TASKS, "chosen_score": GPT, "rejected_score": CLAUDE}), shape=(N, 2, 1, 1), note="systems are in the names"),
    "judges: score_chosen and score_rejected": Case(pd.DataFrame({"id": TASKS, "score_chosen": GPT, "score_rejected": CLAUDE}), shape=(N, 2, 1, 1)),
    "judges: means of chosen and rejected": Case(pd.DataFrame({"id": TASKS, "avg_chosen": GPT, "avg_rejected": CLAUDE}), refused=("holds means", "--systems")),
    "judges: a judge that is a list": Case([{"id": t, "judge": ["gpt", "v1"], "score": int(s)} for t, s in zip(TASKS, GPT, strict=True)], judges=("gpt",), note="the first of each is the judge"),
    "judges: a list of one": Case([{"id": t, "judge": [j], "score": int(s)} for j, v in (("a", GPT), ("b", CLAUDE)) for t, s in zip(TASKS, v, strict=True)], judges=("a", "b")),
    "judges: a list in JSON lines": Case("".join(json.dumps({"question_id": t, "judge": ["gpt-4", "single-v1"], "score": int(s)}) + "\n" for t, s in zip(TASKS, GPT, strict=True)), judges=("gpt-4",)),
    # scale
    "scale: one system on 0 to 100": Case(RATED.assign(score=np.where(RATED["system"] == "z", RATED["score"] * 20, RATED["score"])), refused=("Not all systems are on one scale", "--range")),
    "scale: one system from 0 to 1": Case(RATED.assign(score=np.where(RATED["system"] == "z", RATED["score"] / 10, RATED["score"])), refused=("Not all systems", "z")),
    "scale: one language on 0 to 100": Case(LONG.rename(columns={"judge": "language"}).assign(score=np.where(LONG["judge"] == "gpt", LONG["score"] * 20, LONG["score"])).sample(frac=1, random_state=1), refused=("Not all languages",)),
    "scale: runs merged, the later one on 0 to 100": Case(MERGED, refused=("Not all parts", "scores 1 to 90", "1 to 5")),
    "scale: runs merged, the earlier one on 0 to 100": Case(MERGED.iloc[::-1], refused=("Not all parts", "91 to 180")),
    "scale: runs merged, one between": Case(pd.concat([MERGED.iloc[90:135], MERGED.iloc[:90], MERGED.iloc[135:]]), refused=("Not all parts", "46 to 135")),
    "scale: a judge to 5 beside one to 10": Case(pd.DataFrame({"task": TASKS, "a": GPT, "b": judge(4, 1, 10)}), note="a has scores from 1 to 5, others to 10"),
    "scale: sorted by score": Case(LONG.assign(score=LONG["score"] * 20 - 20 + np.arange(len(LONG)) % 20).sort_values("score"), judges=J3),
    # sentinels
    "sentinel: a heap of 0 on 1 to 5": Case(LONG.assign(score=np.where(np.arange(180) % 4 == 0, 0, np.maximum(LONG["score"], 2 - np.arange(180) % 3))), note="", refused=("--drop 0", "45 scores of 180")),
    "sentinel: 0 on 1 to 5, one in eight": Case(LONG.assign(score=np.where(np.arange(180) % 8 == 0, 0, LONG["score"])), note="--drop 0"),
    "sentinel: 9 beside 0 and 1": Case(LONG.assign(score=np.where(np.arange(180) % 5 == 0, 9, LONG["score"] // 3)), refused=("--drop 9",)),
    "sentinel: -1 beside 0 and 1": Case(LONG.assign(score=np.where(np.arange(180) % 3 == 0, -1, LONG["score"] // 3)), refused=("--drop -1",)),
    "sentinel: 2 beside 0 and 1": Case(LONG.assign(score=np.where(np.arange(180) % 5 == 0, 2, LONG["score"] // 4)), note="--drop 2"),
    "sentinel: 99 on 1 to 5": Case(LONG.assign(score=np.where(np.arange(180) % 5 == 0, 99, LONG["score"])), refused=("--drop 99", "36 scores")),
    **{f"sentinel: one {value} below 1 to 5": Case(LONG.assign(score=np.where(np.arange(180) == 7, value, LONG["score"])), refused=(f"--drop {value}", "1 score of 180")) for value in (-3, -5, -50)},
    "sentinel: from -2 to 2 is a scale": Case(LONG.assign(score=LONG["score"] - 3), shape=SHAPE),
    "sentinel: 9 on 1 to 5": Case(LONG.assign(score=np.where(np.arange(180) % 3 == 0, 9, LONG["score"])), refused=("--drop 9",)),
    "sentinel: 0 far below": Case(LONG.assign(score=np.where(np.arange(180) % 4 == 0, 0, LONG["score"] * 5 + 60)), note="--drop 0"),
    # failed rows
    **{f"failed: {c} are verdicts": Case(LONG.assign(**{c: v}), shape=SHAPE, note=f"{c} is not read as a mark") for c, v in (("status", np.where(LONG["score"] < 3, "fail", "ok")), ("ok", LONG["score"] > 2), ("error", np.where(LONG["score"] < 4, "wrong fact", "")), ("valid", np.where(LONG["score"] < 3, "no", "yes")))},
    "failed: pass and fail are verdicts": Case(LONG.assign(score=(LONG["score"] > 2) * 1, status=np.where(LONG["score"] > 2, "ok", "failed")), shape=SHAPE, note="not read as a mark"),
    "failed: with a constant score": Case(LONG.assign(status=np.where(np.arange(180) % 9 == 0, "error", "ok"), score=np.where(np.arange(180) % 9 == 0, 1, LONG["score"])), note="20 failed rows"),
    "failed: without a score": Case(LONG.assign(status=np.where(np.arange(180) % 9 == 0, "timeout", "ok"), score=np.where(np.arange(180) % 9 == 0, None, LONG["score"])), note="20 failed rows"),
    **{f"failed: {word} is not known": Case(status(np.where(np.arange(180) % 9 == 0, word, np.where(np.arange(180) % 9 == 1, "error", "ok"))).assign(score=np.where(np.arange(180) % 9 == 1, None, LONG["score"])), note=f"{word} (20 rows)") for word in ("moderated", "throttled", "partial")},
    # repeats
    **{f"repeats: {c} is none": Case(pd.concat([LONG.assign(**{c: a}), LONG.assign(**{c: b}, score=6 - LONG["score"])]), refused=(f"{c} tells them apart",)) for c, a, b in (("checkpoint", 100, 200), ("swapped", False, True), ("iteration", 1, 2), ("aspect_no", 1, 2))},
    "repeats: a run that is a checkpoint": Case(pd.concat([LONG.assign(run=1, checkpoint="c100"), LONG.assign(run=2, checkpoint="c200", score=6 - LONG["score"])]), refused=("checkpoint", "--replicate run")),
    "repeats: an epoch that is a prompt": Case(pd.concat([LONG.assign(epoch=i, prompt_version=f"v{i}", score=LONG["score"]) for i in (1, 2)]), refused=("prompt_version", "--replicate epoch")),
    "repeats: a run that is an order": Case(pd.concat([LONG.assign(rep=i, swapped=bool(i), score=LONG["score"]) for i in (0, 1)]), refused=("swapped",)),
    **{f"repeats: {c} numbers them": Case(pd.concat([LONG.assign(**{c: 1}), LONG.assign(**{c: 2}, score=6 - LONG["score"])]), shape=SHAPE) for c in ("run", "epoch", "repeat", "replicate")},
    "repeats: in the names of columns": Case(WIDE.rename(columns={"gpt": "run_1", "claude": "run_2", "gemini": "run_3"}), shape=(N, 1, 1, 1)),
    "repeats: runs of two models": Case(pd.concat([LONG.assign(run=a, score=LONG["score"] if a == "gpt-4" else 6 - LONG["score"]) for a in ("gpt-4", "llama-3")]), refused=("run tells them apart",)),
    "repeats: runs of one name": Case(pd.concat([LONG.assign(run=f"run-{i}") for i in (1, 2)]), shape=SHAPE),
    # names
    "names: pt-BR and pt_BR": Case(pd.concat([LONG.assign(language="en"), LONG.assign(language=np.where(LONG["judge"] == "gpt", "pt_BR", "pt-BR"))]), shape=(N, 1, 2, 3), note="as one"),
    "names: a soft hyphen": Case(LONG.assign(judge=[j.replace("gpt", "g\u00adpt") if i % 2 else j for i, j in enumerate(LONG["judge"])]), judges=J3, note="as one"),
    "names: gpt-4o and gpt_4o": Case(LONG.assign(judge=np.where(LONG["judge"] == "gpt", np.where(np.arange(180) % 2, "gpt-4o", "gpt_4o"), LONG["judge"])), shape=SHAPE, note="as one"),
    "names: gpt-4o beside gpt_4o": Case(LONG.replace({"judge": {"gpt": "gpt-4o", "claude": "gpt_4o"}}), shape=SHAPE),
    "names: systems called -1 and 1": Case(RATED.replace({"system": {"x": "-1", "y": "1"}}), shape=(N, 3, 1, 1)),
    "names: a mark of byte order": Case(LONG.assign(judge=["\ufeff" + j if i == 7 else j for i, j in enumerate(LONG["judge"])]), judges=J3, note="as one"),
    **{f"names: {word!r} is no judge": Case(LONG.assign(judge=[word if i == 7 else j for i, j in enumerate(LONG["judge"])]), refused=("1 score", "no judge")) for word in ("nan", "None", "N/A")},
    **{f"names: {word!r} is no language": Case(LONG.assign(language=[word if i % 9 == 7 else "de" for i in range(180)]), refused=("20 scores", "no language")) for word in ("nan", "None", "N/A")},
    # tasks
    "tasks: one": Case(LONG.drop_duplicates("judge").assign(task="run 7"), refused=("one task", "--task COLUMN")),
    **{f"tasks: not {c}, which numbers the rows": Case(LONG.assign(**{c: range(180)}), shape=SHAPE) for c in ("sample_id", "record_id", "id")},
    "tasks: not a kind of tasks": Case(WIDE[["gpt"]].assign(sample_id=TASKS, task=["sum", "qa", "chat"] * 20, judge="g").rename(columns={"gpt": "score"}), shape=(N, 1, 1, 1)),
    **{f"tasks: {one} and {two} number the rows": Case(LONG.set_axis([one, two, score], axis=1), refused=(f"--task {one} --judge {two}",)) for one, two, score in (("Aufgabe", "Richter", "Punkte"), ("pregunta", "juez", "rating"), ("Frage", "Jury", "score"))},
    "tasks: a topic and a source number none": Case(pd.DataFrame({"gpt": GPT, "claude": CLAUDE, "topic": ["a", "b", "c", "d", "e"] * 12, "origin": np.repeat(list("uvwxyz"), 10)}), shape=(N, 1, 1, 2)),
    "tasks: one record": Case({"task": ["t"], "judge": ["a"], "score": [3]}, refused=("one task",)),
    "tasks: one prompt": Case(WIDE.assign(task="p").rename(columns={"task": "prompt"}).head(1), refused=("one task",)),
    "tasks: a board": Case(pd.DataFrame({"system": ["a", "b", "c", "d"], "score": [71.2, 70.1, 66.0, 50.3]}), refused=("board", "--task")),
    "tasks: a board with columns": Case(pd.DataFrame({"system": ["a", "b", "c", "d"], "gpt": [71, 70, 66, 50], "claude": [70, 72, 60, 55]}), refused=("board",)),
    "tasks: a board of frameworks": Case(pd.DataFrame({"framework": [f"f{i}" for i in range(9)], "rating": range(9)}), refused=("board",)),
    # words that say who won
    **{f"verdict: {word} is not dropped": Case(LONG.assign(score=[word if i % 2 else s for i, s in enumerate(LONG["score"])]), refused=("not a number",)) for word in ("A>B", "Tie", "model_1", "win")},
    "a word of a large share is not dropped": Case(LONG.assign(score=["sound" if i % 2 else s for i, s in enumerate(LONG["score"])]), refused=("'sound'",)),
    # blank rows
    **{f"blank: {n} tasks": Case(LONG.assign(score=LONG["score"].where(~LONG["task"].isin(TASKS[:n]))), shape=(N - n, 1, 1, 3), note=f"{n} task") for n in (1, 6, 8)},
    "blank: a judge": Case(LONG.assign(score=LONG["score"].where(LONG["judge"] != "gpt")), judges=("claude", "gemini"), note="1 judge has no score at all: gpt"),
    "blank: a system": Case(RATED.assign(score=RATED["score"].where(RATED["system"] != "z")), note="1 system has no score at all: z"),
}  # fmt: skip


def _read(case: Case, folder: Path) -> Panel:
    source = case.source
    if isinstance(source, str):
        path = folder / ("s.json" if source.startswith('{"dataset') else "s.jsonl")
        path.write_text(source, encoding="utf-8")
        source = path
    return read_panel(source, **(case.options or {}))


@pytest.mark.parametrize("called", CASES)
def test_meaning(called: str, tmp_path: Path) -> None:
    case = CASES[called]
    if case.refused:
        with pytest.raises(PolyjudgeError) as caught:
            _read(case, tmp_path)
        text = str(caught.value)
        assert all(word in text for word in case.refused), text
        assert " --drop" not in text or "verdict" not in called, text
        return
    panel = _read(case, tmp_path)
    assert case.note in " ".join((*panel.notes, panel.question)), (panel.notes, panel.question)
    assert case.shape in (None, panel.shape), panel
    assert case.judges in (None, panel.judges), panel
    assert case.human in (None, panel.human is not None), panel.human


@pytest.mark.parametrize("end", ["bz2", "xz", "zip", "zst", "csv.gz"])
def test_packed_files_are_read(end: str, tmp_path: Path) -> None:
    data = LONG.to_csv(index=False).encode()
    path = tmp_path / f"scores.csv.{end}"
    if end == "zip":
        with zipfile.ZipFile(path, "w") as book:
            book.writestr("run/scores.csv", data)
            book.writestr("README.md", "about")
    elif end == "zst":
        zstandard = pytest.importorskip("zstandard")
        path.write_bytes(zstandard.ZstdCompressor().compress(data))
    elif end == "csv.gz":
        LONG.to_csv(path, index=False)
    else:
        path.write_bytes((bz2 if end == "bz2" else lzma).compress(data))
    assert read_panel(path).shape == SHAPE


def test_what_is_packed_and_is_none_is_refused(tmp_path: Path) -> None:
    for file in ("s.csv.bz2", "s.csv.xz", "s.zip", "s.7z", "s.pkl"):
        (tmp_path / file).write_bytes(b"nothing of the kind")
        with pytest.raises(PolyjudgeError, match=r"unpacked|not read"):
            read_panel(tmp_path / file)


def test_feather_is_read(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    LONG.to_feather(tmp_path / "s.feather")
    assert read_panel(tmp_path / "s.feather").shape == SHAPE


@pytest.mark.parametrize("header", ["score (0|1|2|3)", "score (1;2;3)", "score\x0b(of gpt)", "score\u2028(1 to 5)"])
def test_odd_headers_cost_no_row(header: str, tmp_path: Path) -> None:
    text = LONG.rename(columns={"score": header}).to_csv(index=False)
    (tmp_path / "s.csv").write_text(text, encoding="utf-8", newline="")
    assert read_panel(tmp_path / "s.csv", score=header).shape == SHAPE


def test_a_header_of_two_lines_costs_no_row(tmp_path: Path) -> None:
    LONG.rename(columns={"score": "score\n(1 to 5)", "judge": "judge"}).to_csv(tmp_path / "s.csv", index=False)
    panel = read_panel(tmp_path / "s.csv")
    assert panel.shape == SHAPE
    assert panel.complete


@pytest.mark.parametrize(("coding", "name"), [("cp1251", "Судья"), ("shift_jis", "審査ひとつ"), ("cp1252", "Müller")])
def test_older_encodings_are_recognised(coding: str, name: str, tmp_path: Path) -> None:
    frame = LONG.assign(judge=LONG["judge"].replace("gpt", name), comment=name)
    (tmp_path / "s.csv").write_bytes(frame.to_csv(index=False).encode(coding))
    panel = read_panel(tmp_path / "s.csv")
    assert name in panel.judges


@pytest.mark.parametrize(
    ("coding", "name"),
    [("mac_roman", "Großbüro"), ("koi8-r", "Привет судья"), ("gb18030", "评审员甲乙"), ("euc-kr", "심사위원")],
)
def test_other_encodings_are_refused(coding: str, name: str, tmp_path: Path) -> None:
    (tmp_path / "s.csv").write_bytes(LONG.assign(judge=LONG["judge"] + name).to_csv(index=False).encode(coding))
    with pytest.raises(PolyjudgeError, match="UTF-8"):
        read_panel(tmp_path / "s.csv")


def test_files_of_a_folder_say_what_each_is(tmp_path: Path) -> None:
    (tmp_path / "README.txt").write_text("about these, and more", encoding="utf-8")
    (tmp_path / "uv.lock").write_text("x", encoding="utf-8")
    (tmp_path / "package-lock.json").write_text("{}", encoding="utf-8")
    for language in ("de", "en"):
        LONG.assign(score=LONG["score"] if language == "de" else 6 - LONG["score"]).to_csv(
            tmp_path / f"{language}.csv", index=False
        )
    with pytest.raises(PolyjudgeError, match="--language filename"):
        read_panel(tmp_path)
    assert read_panel(tmp_path, language="filename").languages == ("de", "en")
    hive = tmp_path / "hive"
    for language in ("de", "en"):
        (hive / f"language={language}").mkdir(parents=True)
        LONG.to_parquet(hive / f"language={language}" / "part-0.parquet")
    assert read_panel(hive).languages == ("de", "en")


def test_bytes_are_text_and_lists_are_said(tmp_path: Path) -> None:
    LONG.assign(judge=[j.encode() for j in LONG["judge"]]).to_parquet(tmp_path / "s.parquet")
    assert read_panel(tmp_path / "s.parquet").judges == J3
    with pytest.raises(PolyjudgeError, match="lists of scores"):
        read_panel([{"id": t, "k": 8, "full_scores": [[7, 7], [6, 6]]} for t in TASKS])


def test_codes_of_hugging_face_are_names(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as parquet

    features = {"info": {"features": {"verdict": {"names": ["pass", "fail"], "_type": "ClassLabel"}}}}
    codes = (GPT < 3).astype("int64")
    table = pa.table({"task": TASKS, "judge": ["gpt"] * N, "verdict": codes})
    parquet.write_table(table.replace_schema_metadata({"huggingface": json.dumps(features)}), tmp_path / "s.parquet")
    panel = read_panel(tmp_path / "s.parquet")
    assert panel.to_frame()["score"].mean() == pytest.approx((GPT >= 3).mean())


def test_a_record_with_very_many_keys_ends_at_once(tmp_path: Path) -> None:
    (tmp_path / "s.json").write_text(json.dumps({f"q{i}": i % 5 for i in range(100_000)}), encoding="utf-8")
    with pytest.raises(PolyjudgeError, match="more than 5,000 keys"):
        read_panel(tmp_path / "s.json")


def test_the_screen_names_the_roles() -> None:
    panel = read_panel(people("human_label", None, WIDE).rename(columns={"task": "qid"}))
    assert panel.read_line == "Read  judges: claude, gemini and gpt · people: human_label · tasks: qid"
    assert panel.read_facts == (panel.facts, panel.read_line)
    assert panel.roles["people"] == "human_label"
    assert read_panel(LONG).read_line == ""
    assert read_panel(LONG.rename(columns={"score": "rating"})).read_line == "Read  score: rating, 1 to 5"
    assert read_panel(LONG.rename(columns={"score": "rating"}), score="rating").read_line == ""
    assert explain(RATED.rename(columns={"system": "model"})).panel.roles == {"systems": "model"}


def test_blank_tasks_of_hashed_units_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    from polyjudge.read import rows

    monkeypatch.setattr(rows, "MOST_TASKS", 30)
    panel = read_panel(LONG.assign(score=LONG["score"].where(~LONG["task"].isin(TASKS[:8]))))
    assert panel.hashed
    assert "24 of 180 missing (8 more tasks have no score)" in panel.facts
    assert "8 tasks have no score at all: q0" in " ".join(panel.notes)


def test_blank_scores_are_counted_as_missing() -> None:
    blank = LONG.assign(score=LONG["score"].where(~LONG["task"].isin(TASKS[:8])))
    assert (
        read_panel(blank).facts
        == "52 tasks x 3 judges: 156 scores from 1 to 5, 24 of 180 missing (8 more tasks have no score)."
    )


@pytest.mark.parametrize(("value", "is_refused"), [("", True), ("<v/>", True), ("<v>3</v>", False)])
def test_formulas_without_values_are_refused(value: str, is_refused: bool, tmp_path: Path) -> None:
    pytest.importorskip("python_calamine")
    workbook(tmp_path / "plain.xlsx", {"a": WIDE.assign(gemini=3)})
    with zipfile.ZipFile(tmp_path / "plain.xlsx") as plain, zipfile.ZipFile(tmp_path / "s.xlsx", "w") as book:
        for member in plain.namelist():
            text = plain.read(member).decode()
            if "sheet0" in member and member.endswith(".xml"):
                text = text.replace("<c><v>3</v></c></row>", f"<c><f>1+2</f>{value}</c></row>")
            book.writestr(member, text)
    if is_refused:
        with pytest.raises(PolyjudgeError, match="60 formulas without a value"):
            read_panel(tmp_path / "s.xlsx")
    else:
        assert read_panel(tmp_path / "s.xlsx", judges=("gpt", "claude", "gemini")).shape == SHAPE


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
def test_a_full_disk_is_blamed() -> None:
    con = connect()
    with pytest.raises(PolyjudgeError, match="The disk is full"), engine_errors("scores.csv"):
        con.execute("COPY (SELECT range FROM range(1000000)) TO '/dev/full' (FORMAT csv, USE_TMP_FILE false)")


def test_files_of_a_zip_with_different_columns_are_named_as_they_are_inside(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "s.zip", "w") as book:
        book.writestr("a.csv", LONG.to_csv(index=False))
        book.writestr("b.csv", LONG.assign(system="x").to_csv(index=False))
    with pytest.raises(PolyjudgeError, match=r"s\.zip, b\.csv and a\.csv have different columns"):
        read_panel(tmp_path / "s.zip")
