"""Translate texts with a model, check them by translating back, and keep them in a file that a person can edit.

The file is the cache: a text is asked for only while the file has no line of it. Whoever changes `translation` in a
line keeps that change.
"""

from __future__ import annotations

import asyncio
import difflib
import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from polyjudge.second.collect.askers import make_asker
from polyjudge.second.collect.models import Ask, Asker, Problem
from polyjudge.second.collect.plan import Judge
from polyjudge.second.panel.errors import CollectError
from polyjudge.second.panel.files import atomic_write, read_text
from polyjudge.second.panel.labels import clean

PROTECTED = re.compile(r"`[^`]+`")
"""What must stay as it is: file names and code between backticks."""
LIKE = 0.5
"""A translation whose way back shares less than this with the source (share of words in order) should be read."""
SAVE_EVERY = 20


@dataclass(frozen=True, kw_only=True)
class Translation:
    """One text: `back` is the translation translated back, `alike` how much of the source's words it has, `lost` the
    protected parts that the translation lacks."""

    id: str
    source: str
    translation: str
    back: str = ""
    alike: float | None = None
    lost: tuple[str, ...] = ()
    model: str = ""

    @property
    def doubtful(self) -> bool:
        return bool(self.lost) or (self.alike is not None and self.alike < LIKE)


def parse_judge(raw: Mapping[str, str]) -> Judge:
    """The model that translates: {"model": "openai/gpt-4o", "name": ..., "base_url": ...}."""
    try:
        return Judge.model_validate(dict(raw))
    except ValueError:
        raise CollectError(
            f"The translating model must be provider/model, such as openai/gpt-4o, not {clean(raw.get('model'))!r}."
        ) from None


def translate(texts: Mapping[str, str], language: str, judge: Judge, path: Path) -> dict[str, Translation]:
    """Translate English texts (id -> text) into a language: {id: Translation}. `path` is the file they are kept in."""
    known = read_translations(path)
    done = {i: known[i] for i, text in texts.items() if i in known and known[i].source == text}
    todo = {i: text for i, text in texts.items() if i not in done}
    if todo:
        asyncio.run(_all(todo, language, judge, path, done))
    # What a person edited is checked anew; only the model's own way back is known, so that check is left to the person.
    return {i: replace(t, lost=_lost(t.source, t.translation)) for i, t in done.items()}


def read_translations(path: Path) -> dict[str, Translation]:
    """The translations of a file, by id; none where there is no file."""
    out: dict[str, Translation] = {}
    try:
        for line in filter(str.strip, read_text(path).split("\n") if path.exists() else ()):
            row = json.loads(line)
            out[str(row["id"])] = Translation(**{**row, "lost": tuple(row.get("lost", ()))})
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise CollectError(
            f"{clean(path, 200)}, line {len(out) + 1}, is no translation: each line needs id, source and translation "
            f"({clean(error, 100)})."
        ) from None
    return out


async def _all(todo: Mapping[str, str], language: str, judge: Judge, path: Path, done: dict[str, Translation]) -> None:
    from polyjudge.second.collect.runner import client_session

    gate = asyncio.Semaphore(judge.concurrency)
    async with client_session() as session:
        try:
            asker = make_asker(judge, None, session, ())
        except Problem as problem:
            raise CollectError(f"{clean(judge.name)} cannot translate: {problem.message}") from None

        async def one(id_: str, text: str) -> None:
            async with gate:
                there = await _ask(asker, judge, _prompt(text, "English", language))
                back = await _ask(asker, judge, _prompt(there, language, "English"))
            before, after = (re.findall(r"\w+", t.lower()) for t in (text, back))
            alike = round(difflib.SequenceMatcher(None, before, after, autojunk=False).ratio(), 3)
            more: dict[str, Any] = {"back": back, "alike": alike, "lost": _lost(text, there), "model": judge.model}
            done[id_] = Translation(id=id_, source=text, translation=there, **more)
            if len(done) % SAVE_EVERY == 0:
                _write(path, done)

        try:
            async with asyncio.TaskGroup() as group:
                for id_, text in todo.items():
                    group.create_task(one(id_, text))
        except* CollectError as errors:
            raise errors.exceptions[0] from None
        finally:
            _write(path, done)
            await asker.close()


async def _ask(asker: Asker, judge: Judge, prompt: str) -> str:
    for attempt in range(judge.retries + 1):
        try:
            text = (await asker.ask(Ask(prompt))).text.strip()
            if text:
                return text
        except Problem as problem:
            if not problem.retry or attempt == judge.retries:
                raise CollectError(f"{clean(judge.name)} cannot translate: {problem.message}") from None
            await asyncio.sleep(min(problem.retry_after or judge.backoff * 2**attempt, judge.max_wait))
    raise CollectError(f"{clean(judge.name)} answered with nothing {judge.retries + 1} times.")


def _prompt(text: str, source: str, target: str) -> str:
    return (
        f"Translate the text below from {source} to {target}. Keep everything between backticks, file names, code and "
        f"names of datasets, models and libraries as they are. Reply with the translation and nothing else.\n\n{text}\n"
    )


def _lost(source: str, translation: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(p for p in PROTECTED.findall(source) if p not in translation))


def _write(path: Path, rows: Mapping[str, Translation]) -> None:
    with atomic_write(path) as file:
        for row in rows.values():
            file.write(json.dumps(asdict(row), ensure_ascii=False) + "\n")
