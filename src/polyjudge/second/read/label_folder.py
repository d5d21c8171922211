"""A folder of labels: what was asked (the manifest), and the files that came back, whatever became of them.

An answer names the item it is about by a token that only the manifest can resolve. So files may be renamed, cut, merged
or edited in a spreadsheet, and come from the page, a sheet, Label Studio or Argilla.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from polyjudge.second.panel.errors import PanelError, PolyjudgeError, UsageError
from polyjudge.second.panel.files import read_json
from polyjudge.second.panel.gold import CUTS, SIZES
from polyjudge.second.panel.labels import clean, some
from polyjudge.second.read.formats.excel import read_excel

MANIFEST = "manifest.json"
FORMAT, VERSION, DIGEST = "polyjudge-labels", 1, "digest"
LARGEST = 200_000_000
"""Bytes of a file that may hold answers."""


@dataclass(frozen=True)
class Answer:
    """One answer as it was found. `label` is None for an item that was left open; `skip` says why."""

    token: str
    label: Any
    skip: str
    when: str
    file: str


@dataclass(frozen=True, eq=False)
class LabelFolder:
    """What was asked and what came back. `labels` has a row per answer: task, (system,) language, annotator, score or
    preference, item, again; `skipped` the items that were passed over and why; `odd` what did not fit, in words."""

    manifest: dict[str, Any]
    labels: pd.DataFrame
    skipped: pd.DataFrame
    files: tuple[str, ...]
    odd: tuple[str, ...] = ()
    replaced: int = 0
    """Answers that a later answer to the same item replaced."""


def is_label_folder(path: str | Path) -> bool:
    """Whether a path is a folder that `label make` wrote, or its manifest."""
    path = Path(path)
    return (path / MANIFEST).is_file() or (path.name == MANIFEST and path.is_file())


def read_manifest(folder: str | Path) -> dict[str, Any]:
    """The manifest of a folder of labels, checked."""
    path = Path(folder)
    path = path if path.name == MANIFEST else path / MANIFEST
    if not path.is_file():
        raise UsageError(f"{clean(path, 200)} is not there: name the folder that `polyjudge label make` wrote.")
    data = read_json(path)
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise PanelError(f"{clean(path, 200)} is not a manifest of labels.")
    if data.get("version") != VERSION:
        raise PanelError(
            f"{clean(path, 200)} has version {clean(data.get('version'))}; this polyjudge reads version {VERSION}."
        )
    if not _as_written(data):
        raise PanelError(f"{clean(path, 200)} is damaged. Restore the manifest that label make wrote.")
    return data


def manifest_text(manifest: dict[str, Any]) -> str:
    """A manifest as its file: with a digest, by which any change is seen."""
    return json.dumps({**manifest, DIGEST: _digest(manifest)}, ensure_ascii=False, indent=1) + "\n"


def _digest(manifest: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(manifest, sort_keys=True).encode()).hexdigest()


def _as_written(data: dict[str, Any]) -> bool:
    """Whether a manifest is what its digest says, which is taken out of it."""
    digest = data.pop(DIGEST, None)
    try:
        return bool(digest == _digest(data))
    except RecursionError:
        return False


def read_label_folder(folder: str | Path) -> LabelFolder:
    """Join what came back with what was asked. Nothing is dropped without a word in `odd`."""
    folder = Path(folder)
    folder = folder.parent if folder.name == MANIFEST else folder
    manifest = read_manifest(folder)
    odd: list[str] = []
    files: list[str] = []
    best: dict[str, Answer] = {}
    replaced = 0
    for path in sorted(folder.rglob("*")):
        if path.suffix.lower() not in READERS or path.name == MANIFEST or not path.is_file():
            continue
        answers = list(_answers(path, folder, manifest, odd))
        if answers:
            files.append(str(path.relative_to(folder)))
        for answer in answers:
            old = best.get(answer.token)
            if old is not None and old.label is not None and old.label != answer.label:
                replaced += 1
            if old is None or (answer.label is not None, answer.when) >= (old.label is not None, old.when):
                best[answer.token] = answer
    labels, skipped = _joined(manifest, best, odd)
    return LabelFolder(manifest, labels, skipped, tuple(files), tuple(odd), replaced)


def read_labels(folder: str | Path) -> pd.DataFrame:
    """The labels of a folder as a table, with the strata they were drawn from."""
    found = read_label_folder(folder)
    if found.labels.empty:
        raise PanelError(
            f"No answer has come back to {clean(folder, 200)} yet. Put the files that annotators exported there; "
            "`polyjudge label read` says what is missing." + (f" {found.odd[0]}" if found.odd else "")
        )
    return found.labels


def _joined(manifest: dict[str, Any], best: dict[str, Answer], odd: list[str]) -> tuple[pd.DataFrame, pd.DataFrame]:
    ask = manifest["ask"]
    column = "preference" if ask["kind"] == "pairs" else "score"
    rows, skipped, wrong = [], [], []
    for token, answer in best.items():
        shown = manifest["shown"][token]
        item = manifest["items"][shown["item"]]
        who = {"task": item["task"], "language": item["language"], "annotator": shown["annotator"]}
        if item.get("system"):
            who["system"] = item["system"]
        if answer.label is None:
            skipped.append({**who, "why": answer.skip, "file": answer.file})
            continue
        value = label_value(answer.label, ask)
        if value is None:
            wrong.append(f"{clean(answer.label)!r} in {clean(answer.file)}")
            continue
        value = -value if shown.get("swapped") else value
        look = {"item": shown["item"], "again": bool(shown.get("again")), "stratum": item["stratum"]}
        rows.append({**who, column: value, **look})
    if wrong:
        odd.append(f"{len(wrong)} labels are none of the answers that were offered: {some(wrong, 3)}.")
    labels = pd.DataFrame(
        rows, columns=None if rows else ["task", "language", "annotator", column, "item", "again", "stratum"]
    )
    if rows:
        labels = labels.sort_values(["language", "annotator", "item", "again"], ignore_index=True)
    labels.attrs[CUTS] = {language: part["cuts"] for language, part in manifest["design"].items()}
    labels.attrs[SIZES] = {language: part["sizes"] for language, part in manifest["design"].items()}
    return labels, pd.DataFrame(skipped, columns=None if skipped else ["task", "language", "annotator", "why", "file"])


def label_value(label: Any, ask: dict[str, Any]) -> float | None:
    """The number behind an answer: one of the choices by value or by word, or a number on the slider's scale."""
    text = str(label).strip()
    choices = {str(word).strip().casefold(): float(value) for value, word in ask["choices"]}
    if text.casefold() in choices:
        return choices[text.casefold()]
    try:
        number = float(text.replace(",", "."))
    except ValueError:
        return None
    if ask["kind"] == "slider":
        share = (number - ask["low"]) / (ask["high"] - ask["low"])
        low, high = ask["to"]
        return low + share * (high - low) if 0 <= share <= 1 else None
    return next((value for value in choices.values() if abs(value - number) < 1e-9), None)


# --- files that came back ---


def _answers(path: Path, folder: Path, manifest: dict[str, Any], odd: list[str]) -> Iterator[Answer]:
    """The answers of one file; a file that holds none is passed over, one for another manifest is told."""
    name = str(path.relative_to(folder))
    if path.stat().st_size > LARGEST:
        odd.append(f"{clean(name)} is larger than {LARGEST // 1_000_000} MB and was not read.")
        return
    try:
        records = list(READERS[path.suffix.lower()](path))
    except (OSError, ValueError, KeyError, TypeError, csv.Error, PolyjudgeError) as error:
        odd.append(f"{clean(name)} cannot be read ({clean(error, 80)}).")
        return
    when = f"{path.stat().st_mtime:020.3f}"
    strange = 0
    for record in records:
        token = str(record.get("item") or record.get("id") or "").strip()
        label, skip = record.get("label"), str(record.get("skip") or "").strip()
        empty = label is None or str(label).strip() == "" or str(label).strip().lower() == "nan"
        if empty and not skip:
            continue
        if token not in manifest["shown"]:
            strange += bool(token)
            continue
        yield Answer(token, None if empty else label, skip, str(record.get("at") or when), name)
    if strange:
        odd.append(
            f"{clean(name)} has {strange} {'answer' if strange == 1 else 'answers'} to items that this manifest does "
            "not know: it belongs to another `label make`. Put it into that folder, or read it there."
        )


def _json(path: Path) -> Iterator[dict[str, Any]]:
    text = path.read_text(encoding="utf-8-sig")
    if path.suffix.lower() == ".jsonl":
        data: Any = [json.loads(line) for line in text.split("\n") if line.strip()]
    else:
        data = json.loads(text)
    if isinstance(data, dict):
        data = data.get("answers", data.get("records", []))
    for record in data if isinstance(data, list) else []:
        if isinstance(record, dict):
            yield from _unfold(record)


def _unfold(record: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """A record of the page, of a flat export, of Label Studio (`annotations`) or of Argilla (`responses`)."""
    if isinstance(record.get("annotations"), list):
        data = record.get("data") or {}
        for annotation in record["annotations"]:
            if annotation.get("was_cancelled"):
                continue
            for result in annotation.get("result", []):
                value = next(iter((result.get("value") or {}).values()), None)
                value = value[0] if isinstance(value, list) and value else value
                yield {"item": data.get("item"), "label": value, "at": annotation.get("updated_at")}
    elif isinstance(record.get("responses"), dict):
        for response in record["responses"].get("label") or []:
            yield {"item": record.get("id"), "label": response.get("value")}
    elif isinstance(record.get("label.responses"), list):
        for value in record["label.responses"]:
            yield {"item": record.get("id"), "label": value}
    else:
        yield record


def _csv(path: Path) -> Iterator[dict[str, Any]]:
    raw = path.read_bytes()
    text = raw.decode("utf-16" if raw[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig")
    head = text.split("\n", 1)[0]
    mark = max(",;\t", key=head.count)
    csv.field_size_limit(LARGEST)
    for row in csv.DictReader(io.StringIO(text, newline=""), delimiter=mark):
        yield {str(name).strip().lower(): value for name, value in row.items() if name is not None}


def _excel(path: Path) -> Iterator[dict[str, Any]]:
    for record in read_excel(path, None).astype(object).to_dict("records"):
        yield {str(name).strip().lower(): value for name, value in record.items()}


READERS = {".json": _json, ".jsonl": _json, ".csv": _csv, ".tsv": _csv, ".xlsx": _excel}
"""Ending of a file -> how its records are found."""
