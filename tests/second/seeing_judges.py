"""Simulated judges that read the text they score: they see damage, see half of it, are blind, severe, or like length.

The same judge answers over HTTP (`judge_server.py` with "seeing" in its configuration) and in memory (`panel_of`), so a
panel of a run through the server and one made directly are equal, score by score.
"""

from __future__ import annotations

import hashlib
import json
import re
from difflib import SequenceMatcher
from functools import cache, lru_cache
from pathlib import Path
from statistics import NormalDist
from typing import Any

TEXTS = Path(__file__).with_name("collect") / "probe_texts.json"
LANGUAGES = {"en": "English", "ar": "Arabic", "ko": "Korean", "th": "Thai"}
MARK = re.compile(r"\[\[(\S+) (\S+) all\]\]")
RESPONSE = re.compile(r"<answer-(\w+)>\n(.*)\n</answer-\1>", re.DOTALL)
NORMAL = NormalDist()
FALL, NOISE, QUALITY, LEVEL = 30.0, 8.0, 8.0, 62.0


def words(text: str) -> list[str]:
    """What a judge compares: words, and four letters each where there are no spaces."""
    return [part[i : i + 4] if len(part) > 24 else part for part in text.split() for i in _steps(part)]


def _steps(part: str) -> range:
    return range(0, len(part), 4) if len(part) > 24 else range(1)


@cache
def _pool(language: str) -> list[str]:
    text = " ".join(json.loads(TEXTS.read_text(encoding="utf-8"))[LANGUAGES[language]])
    return sorted({w.strip(".。،,؟?!") for w in words(text)} - {""})


@cache
def response(task: str, language: str) -> str:
    """A clean answer of 48 words in sentences of eight."""
    pool = _pool(language)
    drawn = [pool[int(_uniform("word", task, language, i) * len(pool))] for i in range(48)]
    return " ".join(" ".join(drawn[i : i + 8]) + "." for i in range(0, 48, 8))


def items(tasks: int, languages: list[str]) -> list[dict[str, Any]]:
    """Items of a plan; the question carries what the server needs to know which answer it is."""
    return [
        {
            "id": f"t{t:03d}",
            "language": x,
            "prompt": f"Answer. [[t{t:03d} {x} all]]",
            "response": response(f"t{t:03d}", x),
        }
        for x in languages
        for t in range(tasks)
    ]


def _uniform(*parts: object) -> float:
    digest = hashlib.blake2b("\0".join(map(str, parts)).encode("utf-8", "replace"), digest_size=8).digest()
    return (int.from_bytes(digest, "big") + 0.5) / 2**64


@lru_cache(maxsize=100_000)
def loss(task: str, language: str, text: str) -> float:
    """Share of the clean answer's words that are gone or out of order."""
    clean = words(response(task, language))
    found = SequenceMatcher(None, clean, [w for w in words(text[:5000]) if w not in "-·"], autojunk=False)
    return 1 - sum(block.size for block in found.get_matching_blocks()) / len(clean)


class Seeing:
    """Judges by configuration: `seed`, and for each judge `sees` and `shift` by language, `placebo` and `length`."""

    def __init__(self, config: dict[str, Any]) -> None:
        self.whole = config

    @property
    def config(self) -> dict[str, Any]:
        """As it stands now: a server's may change."""
        found: dict[str, Any] = self.whole["seeing"]
        return found

    def score(self, model: str, task: str, language: str, text: str) -> int:
        """0 to 100, from the text alone: level, quality of the task, damage seen, own shift, noise."""
        judge, seed = self.config["judges"][model], self.config["seed"]
        sees = judge.get("sees", {}).get(language, 1.0)
        value = LEVEL + judge.get("shift", {}).get(language, 0.0)
        value += sees * (QUALITY * NORMAL.inv_cdf(_uniform("quality", seed, task, language)))
        value -= sees * FALL * loss(task, language, text)
        value += judge.get("placebo", 0.0) * (text.count("\n") > 0)
        value += judge.get("length", 0.0) * (len(text) / len(response(task, language)) - 1)
        value += NOISE * NORMAL.inv_cdf(_uniform("noise", seed, model, task, language, text))
        return round(min(100.0, max(0.0, value)))

    def answer(self, model: str, prompt: str) -> str:
        """What the server sends."""
        mark, found = MARK.search(prompt), RESPONSE.search(prompt)
        assert mark is not None
        assert found is not None
        return json.dumps({"score": self.score(model, mark[1], mark[2], found[2].strip()), "reason": "because"})


def panel_of(seeing: Seeing, rows: list[dict[str, Any]], probes: bool) -> Any:
    """The panel that these judges give these rows (items or versions), without a server."""
    import pandas as pd

    import polyjudge as pj

    out = [
        (
            row["id"],
            row.get("version", ""),
            row["language"],
            judge,
            seeing.score(judge, row["id"], row["language"], text),
        )
        for row in rows
        for text in [row["response"].strip()]
        for judge in seeing.config["judges"]
    ]
    frame = pd.DataFrame(out, columns=["task", "system", "language", "judge", "score"])
    frame = frame if probes else frame.drop(columns="system")
    return pj.read_panel(frame, range=(0.0, 100.0))
