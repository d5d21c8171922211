"""`label read`: join what came back from annotators. A file that cannot be read is named, and the others are read.

An answer names its item by a token that only the manifest can resolve, so a file is known by what it holds, whatever it
is called; nothing is dropped without a word.
"""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from polyjudge.answers.humans.sheet import FORMAT, MANIFEST, VERSION, checksum
from polyjudge.base.errors import PanelError, UsageError
from polyjudge.base.files import MARKER, check_apart, check_new, read_json, read_text, write_text
from polyjudge.base.text import count, name, names, shell
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


def read_labels(folder: Path | str, *, output: Path | None = None, overwrite: bool = False) -> Returned:
    """Join the files that came back from annotators, and say what is missing.

    Put the files into the folder that `polyjudge label make` wrote, under any name. A file that cannot be read is
    named, and the others are read; of two answers of one annotator to the same item the later one counts.

    folder : the folder that `label make` wrote, with what came back in it
    output : write the labels to this file (CSV)
    overwrite : replace that file if it exists

    Examples:
        polyjudge label read labels
        polyjudge label read labels -o labels.csv
    """
    import pandas as pd

    folder = Path(folder)
    folder = folder.parent if folder.name == MANIFEST else folder
    manifest = read_manifest(folder)
    shown: dict[str, dict[str, str]] = manifest["shown"]
    best: dict[str, tuple[str, Any, str]] = {}
    files, changed = [], 0
    for path in sorted(folder.rglob("*")):
        if not path.is_file() or path.name in (MANIFEST, MARKER) or path.suffix.lower() in (".html", ".htm"):
            continue  # a page is no answer
        known, problem, moved = _join(path, shown, manifest["ask"], best)
        changed += moved
        files.append((str(path.relative_to(folder)), known, problem))
    labels, skipped, annotators = _frames(shown, best)
    if output is not None:
        check_apart({"--output": output}, [folder / MANIFEST])
        check_new(output, overwrite)
        write_text(output, as_csv(labels))
    return Returned(
        labels=labels,
        annotators=annotators,
        skipped=skipped,
        files=pd.DataFrame(files, columns=["file", "answers", "problem"]),
        folder=str(folder),
        findings=_findings(len(shown), labels, skipped, files, changed, folder),
    )


def is_label_folder(path: Any) -> bool:
    """Whether a path is a folder that `label make` wrote."""
    with suppress(OSError, ValueError):
        return isinstance(path, (str, Path)) and (Path(path) / MANIFEST).is_file()
    return False


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


def _join(
    path: Path, shown: dict[str, dict[str, str]], ask: dict[str, Any], best: dict[str, tuple[str, Any, str]]
) -> tuple[int, str, int]:
    """Take the answers of one file: how many, what is wrong with it, and how many replaced an older answer."""
    try:
        records = _records(path)
    except RecursionError:
        return 0, "cannot be read: it is nested too deeply", 0
    except json.JSONDecodeError:
        return 0, "is not the JSON that the page saves, or not all of it: ask for the file again", 0
    except (PanelError, ValueError, TypeError, AttributeError, OSError) as error:
        return 0, f"cannot be read: {name(str(error), 120)}", 0
    if not records:
        return 0, "holds no answers", 0
    known = moved = 0
    strange, wrong = [], []
    when = f"{path.stat().st_mtime:020.3f}"
    for record in records:
        token = str(record.get("item") or record.get("id") or "").strip()
        label, skip = record.get("label"), str(record.get("skip") or "").strip()
        empty = label is None or str(label).strip() == ""
        if empty and not skip:
            continue
        if token not in shown:
            strange.append(token)
            continue
        value = None if empty else label_value(label, ask)
        if value is None and not empty:
            wrong.append(str(label))
            continue
        known += 1
        at = str(record.get("at") or when)
        old = best.get(token)
        if old is not None and (old[0], old[1] is not None) > (at, value is not None):
            continue
        moved += old is not None and old[1] is not None and old[1] != value
        best[token] = (at, value, skip)
    problem = []
    if strange:
        problem.append(f"{count(len(strange), 'answer')} to items that this folder did not give out")
    if wrong:
        verb = "was" if len(wrong) == 1 else "were"
        problem.append(f"{count(len(wrong), 'answer')} that {verb} not offered ({names(wrong, 3)})")
    if not known and not problem:
        problem.append("holds no answers")
    return known, "; ".join(problem), moved


def _records(path: Path) -> list[dict[str, Any]]:
    """The answers in a file that the page saved."""
    data = json.loads(read_text(path, MOST))
    found = data.get("answers") if isinstance(data, dict) else data
    if not isinstance(found, list) or not all(isinstance(x, dict) for x in found):
        raise ValueError("it is JSON, but not a file that the page saved")
    return found


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
