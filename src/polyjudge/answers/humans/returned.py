"""`label read`: join what came back from annotators. A file that cannot be read is named, and the others are read.

An answer names its item by a token that only the manifest can resolve, so a file is known by what it holds, whatever it
is called; nothing is dropped without a word.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from polyjudge.answers.humans.sheet import FORMAT, MANIFEST, VERSION, checksum
from polyjudge.base.errors import PanelError, UsageError
from polyjudge.base.files import MARKER, check_apart, check_new, read_json, read_text, write_text
from polyjudge.base.text import count, name, names, shell
from polyjudge.read.labels import labels_of
from polyjudge.report.model import Finding, Report, Result, Section, Step, Table
from polyjudge.report.text import csv as as_csv

if TYPE_CHECKING:
    import pandas as pd

MOST = 64 << 20  # bytes of a file that may hold answers


@dataclass(frozen=True, repr=False)
class Returned(Result):
    """What came back. labels : task, system, language, annotator, label, as `humans` takes them; annotators : language,
    annotator, asked, labelled, skipped, missing; skipped : task, system, language, annotator, why; files : file,
    answers, problem (empty where there was none)"""

    labels: pd.DataFrame
    annotators: pd.DataFrame
    skipped: pd.DataFrame
    files: pd.DataFrame
    folder: str
    findings: tuple[Finding, ...]

    @property
    def missing(self) -> int:
        """Answers that were given out and have neither a label nor a reason for skipping them."""
        return int(self.annotators["missing"].sum())

    def report(self) -> Report:
        """The report."""
        one = self.annotators["language"].nunique() == 1
        kinds = {} if one else {"language": "name"}
        kinds |= {"annotator": "name", **dict.fromkeys(("asked", "labelled", "skipped", "missing"), "count")}
        tables = (
            Table("annotators", "Annotators", self.annotators, kinds),
            Table("files", "Files", self.files, {"file": "name", "answers": "count", "problem": "text"}),
            Table("skipped", "Skipped", self.skipped, dict.fromkeys(self.skipped.columns, "name")),
            Table("labels", "Labels", self.labels, dict.fromkeys(self.labels.columns, "name"), most=20),
        )
        section = Section("back", "What came back", tables=tuple(t for t in tables if len(t.frame)))
        step = Step(f"polyjudge humans SCORES {shell(self.folder)}", "compare judges and people")
        steps = (step,) if len(self.labels) else ()
        return Report("label read", "Labels that came back", (), self.findings, next=steps, sections=(section,))


def read_labels(
    folder: Path | str | Sequence[Path | str], *, output: Path | None = None, overwrite: bool = False
) -> Returned:
    """Join the files that came back from annotators, and say what is missing.

    Put the files into the folder that `polyjudge label make` wrote, under any name. A file that cannot be read is
    named, and the others are read; of two answers of one annotator to the same item the later one counts.

    folder : the folder that `label make` wrote, with what came back in it; of several draws all folders, with commas
    output : write the labels to this file (CSV)
    overwrite : replace that file if it exists

    Examples:
        polyjudge label read labels
        polyjudge label read labels,more -o labels.csv
    """
    import pandas as pd

    folders = label_folders(folder)
    parts = [_read_folder(part) for part in folders]
    shown, best, files = dict[str, dict[str, str]](), dict[str, tuple[str, Any, str]](), list[tuple[str, int, str]]()
    for part in parts:
        shown |= part.shown
        best |= part.best
        files += part.files
    labels, skipped, annotators = _frames(shown, best)
    if output is not None:
        check_apart({"--output": output}, [path / MANIFEST for path in folders])
        check_new(output, overwrite)
        write_text(output, as_csv(labels))
    changed = sum(part.changed for part in parts)
    name_of_all = ",".join(map(str, folders))
    return Returned(
        labels=labels,
        annotators=annotators,
        skipped=skipped,
        files=pd.DataFrame(files, columns=["file", "answers", "problem"]),
        folder=name_of_all,
        findings=(*_findings(len(shown), labels, skipped, files, changed, folders[0]), *_same_people(parts)),
    )


@dataclass(frozen=True)
class _Folder:
    """What came back into one folder. shown : token -> what it stands for; best : token -> when, label, why skipped"""

    path: Path
    shown: dict[str, dict[str, str]]
    best: dict[str, tuple[str, Any, str]]
    files: list[tuple[str, int, str]]
    changed: int


def _read_folder(folder: Path) -> _Folder:
    manifest = read_manifest(folder)
    best: dict[str, tuple[str, Any, str]] = {}
    files, n_changed = [], 0
    for path in sorted(folder.rglob("*")):
        if not path.is_file() or path.name in (MANIFEST, MARKER) or _is_page(path, manifest):
            continue
        n_known, problem, n_moved = _join(path, manifest, best)
        n_changed += n_moved
        files.append((str(path.relative_to(folder)), n_known, problem))
    return _Folder(folder, manifest["shown"], best, files, n_changed)


def _is_page(path: Path, manifest: dict[str, Any]) -> bool:
    """Whether a file is a page as `label make` wrote it: one that came back is another one."""
    if path.suffix.lower() not in (".html", ".htm", ".xhtml"):
        return False
    pages = manifest.get("pages")  # unknown to folders of earlier versions
    return pages is None or hashlib.sha256(path.read_bytes()).hexdigest() == pages.get(path.name)


def _same_people(parts: list[_Folder]) -> tuple[Finding, ...]:
    """What is assumed of annotators that several folders name alike."""
    people = [{about["annotator"] for about in part.shown.values()} for part in parts]
    twice = sorted({who for i, some in enumerate(people) for who in some if any(who in x for x in people[:i])})
    if not twice:
        return ()
    verb = "is" if len(twice) == 1 else "are"
    text = (
        f"{names(twice)} {verb} in several folders, and taken to be the same {'person' if verb == 'is' else 'people'}."
    )
    return (Finding("notice", "labels.people", text, "Labels"),)


def label_folders(folder: Any) -> list[Path]:
    """The folders that are named: one, several, or several with commas between them."""
    if not isinstance(folder, str | Path):
        return [path for part in folder for path in label_folders(part)]
    path = Path(folder)
    if not path.exists() and "," in str(folder):
        return [path for part in str(folder).split(",") if part for path in label_folders(part)]
    return [path.parent if path.name == MANIFEST else path]


def is_label_folder(path: Any) -> bool:
    """Whether a path is a folder that `label make` wrote, or several such folders."""
    if not isinstance(path, str | Path) and not (
        isinstance(path, list | tuple) and path and all(isinstance(part, str | Path) for part in path)
    ):
        return False
    with suppress(OSError, ValueError):
        return all((folder / MANIFEST).is_file() for folder in label_folders(path))
    return False


def join_labels(labels: Any) -> Any:
    """Labels as they are; a folder is read, and tables and folders that are named with commas are joined to a table."""
    if is_label_folder(labels):
        return read_labels(labels)
    is_list = isinstance(labels, str | Path) and "," in str(labels) and not Path(labels).exists()
    return _join_parts([part for part in str(labels).split(",") if part]) if is_list else labels


def _join_parts(parts: Sequence[str]) -> Any:
    """The labels of several tables and folders as one table, with what is said of the folders."""
    import pandas as pd

    folders = [part for part in parts if is_label_folder(part)]
    tables = [labels_of(part) for part in parts if part not in folders]
    returned = read_labels(folders) if folders else None
    if returned is not None and len(returned.labels):
        tables.append(labels_of(returned.labels))
    if len({table["label"].dtype == bool for table in tables}) > 1:
        raise UsageError(f"Of {names(parts)} one has pass and fail, another numbers: they are not labels of one kind.")
    joined = pd.concat(tables, ignore_index=True)
    return joined if returned is None else replace(returned, labels=joined)


def read_manifest(folder: Path) -> dict[str, Any]:
    """The manifest of a folder of labels, checked: a change of it is an error of the input."""
    path = folder / MANIFEST
    where = name(str(path), 200)
    if not path.is_file():
        raise UsageError(f"{where} does not exist: name the folder that `polyjudge label make` wrote.")
    try:
        data: dict[str, Any] = read_json(path)
        whole = (data["format"], data["version"], data["checksum"]) == (FORMAT, VERSION, checksum(data))
    except (PanelError, KeyError, TypeError, RecursionError):
        whole = False
    if not whole:
        raise UsageError(
            f"{where} is damaged, was changed after it was written, or is of another version. Restore the manifest "
            "that `polyjudge label make` wrote."
        )
    return data


# --- files ---


def _join(path: Path, manifest: dict[str, Any], best: dict[str, tuple[str, Any, str]]) -> tuple[int, str, int]:
    """Take the answers of one file: how many, what is wrong with it, and how many replaced an older answer."""
    if path.suffix.lower() in (".html", ".htm", ".xhtml"):
        return 0, "is a page, and holds no answers: ask for the file that Save makes there (its name ends in .json)", 0
    try:
        set_id, records = _records(path)
    except RecursionError:
        return 0, "cannot be read: it is nested too deeply", 0
    except json.JSONDecodeError:
        return 0, "is not the JSON that the page saves, or not all of it: ask for the file again", 0
    except (PanelError, ValueError, TypeError, AttributeError, OSError) as error:
        return 0, f"cannot be read: {name(str(error), 120)}", 0
    if set_id is not None and set_id != manifest["id"]:
        return 0, "belongs to another set of labels: put it into the folder that its page came from", 0
    taken = _Taken()
    for record in records:
        _take(record, manifest, f"{path.stat().st_mtime:020.3f}", best, taken)
    return taken.n_known, _problem(taken), taken.n_moved


@dataclass
class _Taken:
    """What became of the answers in a file."""

    n_known: int = 0
    n_moved: int = 0
    strange: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)


def _take(
    record: dict[str, Any],
    manifest: dict[str, Any],
    when: str,
    best: dict[str, tuple[str, Any, str]],
    taken: _Taken,
) -> None:
    """Take one answer: of two to the same item the later one counts."""
    token = _text_of(record, "item") or _text_of(record, "id")
    label, skip = _text_of(record, "label"), _text_of(record, "skip")
    if not label and not skip:
        return
    if token not in manifest["shown"]:
        taken.strange.append(token)
        return
    value = label_value(label, manifest["ask"]) if label else None
    if value is None and label:
        taken.wrong.append(label)
        return
    taken.n_known += 1
    time = _text_of(record, "at") or when
    before = best.get(token)
    if before is not None and (before[0], before[1] is not None) > (time, value is not None):
        return
    taken.n_moved += before is not None and before[1] is not None and before[1] != value
    best[token] = (time, value, skip)


def _text_of(record: dict[str, Any], key: str) -> str:
    value = record.get(key)
    return "" if value is None else str(value).strip()


def _problem(taken: _Taken) -> str:
    """What is wrong with the answers in a file; nothing where all is well."""
    problems = []
    if taken.strange:
        problems.append(f"{count(len(taken.strange), 'answer')} to items that this folder did not give out")
    if taken.wrong:
        verb = "was" if len(taken.wrong) == 1 else "were"
        problems.append(f"{count(len(taken.wrong), 'answer')} that {verb} not offered ({names(taken.wrong, 3)})")
    return "; ".join(problems) or ("" if taken.n_known else "holds no answers")


def _records(path: Path) -> tuple[str | None, list[dict[str, Any]]]:
    """The set of labels that a file names, if it does, and the answers in it."""
    data = json.loads(read_text(path, MOST))
    answers = data.get("answers") if isinstance(data, dict) else data
    if not isinstance(answers, list) or not all(isinstance(x, dict) for x in answers):
        raise ValueError("it is JSON, but not a file that the page saved")
    return (str(data["labels"]) if isinstance(data, dict) and data.get("labels") else None), answers


def label_value(label: Any, ask: dict[str, Any]) -> Any:
    """The label behind an answer: pass or fail, a level, or the slider's number on the scale of the scores; None where
    it was not offered."""
    if ask["kind"] == "pass":
        word = str(label).strip().lower()
        return word if word in ("pass", "fail") else {"1": "pass", "0": "fail"}.get(word)
    try:
        value = float(str(label).strip().replace(",", "."))
    except ValueError:
        return None
    if ask["kind"] == "levels":
        return next((float(x) for x in ask["values"] if abs(x - value) < 1e-9), None)
    share = (value - ask["low"]) / (ask["high"] - ask["low"])
    low, high = ask["to"]
    return float(f"{low + share * (high - low):.12g}") if 0 <= share <= 1 else None


# --- what came back ---


def _frames(
    shown: dict[str, dict[str, str]], best: dict[str, tuple[str, Any, str]]
) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """Labels, what was skipped and why, and the counts of each annotator."""
    import pandas as pd

    keys = [k for k in ("task", "system", "language", "annotator") if any(k in about for about in shown.values())]
    rows = [(*(about.get(k, "") for k in keys), *best.get(t, ("", None, ""))) for t, about in shown.items()]
    every = pd.DataFrame(rows, columns=[*keys, "at", "label", "why"])
    every = every.sort_values(["language", "annotator", "task"], kind="stable", ignore_index=True)
    every = every.assign(asked=1, labelled=every["label"].notna(), skipped=every["label"].isna() & (every["at"] != ""))
    every = every.assign(missing=every["at"] == "")
    counts = every.groupby(["language", "annotator"], as_index=False)[["asked", "labelled", "skipped", "missing"]].sum()
    labels = every[every["labelled"]][[*keys, "label"]].reset_index(drop=True).infer_objects()
    return labels, every[every["skipped"]][[*keys, "why"]].reset_index(drop=True), counts


def _findings(
    asked: int, labels: pd.DataFrame, skipped: pd.DataFrame, files: list[Any], changed: int, folder: Path
) -> tuple[Finding, ...]:
    where = f", in {count(sum(1 for f in files if f[1]), 'file')}" if files else ""
    text = f"{len(labels):,} of {count(asked, 'label')} came back{where}."
    found = [Finding("info", "labels.back", text, "Labels")]
    if not files:
        text = f"Put the files that annotators saved into the folder {name(str(folder), 200)}, under any name."
        found.append(Finding("warning", "labels.none", text, "Labels"))
    for file, _, problem in files:
        if problem:
            found.append(Finding("warning", "labels.file", f"{name(file, 100)}: {problem}.", "Labels"))
    if len(skipped):
        share = len(skipped) / max(len(skipped) + len(labels), 1)
        text = f"Annotators skipped {count(len(skipped), 'answer')} ({share:.0%}): if those are harder or worse than "
        text += "the others, rates and means by the labels are off."
        found.append(Finding("warning" if share > 0.1 else "notice", "labels.skipped", text, "Labels"))
    if changed:
        text = f"{count(changed, 'answer')} given again later: the later one counts."
        found.append(Finding("info", "labels.changed", text, "Labels"))
    return tuple(found)
