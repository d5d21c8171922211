"""`label make`: which answers should people label? Drawn at random in each language, with a page for each annotator.

The same tasks in all languages where they share tasks, systems in turn, some answers by two annotators (METHODS 22,
"Draw"). The manifest keeps what must stay blind: which answer is behind a token, and which system wrote it.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Unpack

import numpy as np
from numpy.typing import NDArray

from polyjudge._version import __version__
from polyjudge.answers.humans.next_labels import (
    NextLabels,
    allowed_answers,
    drawn_findings,
    expected_entry,
    where_of_use,
)
from polyjudge.answers.humans.returned import (
    Returned,
    is_label_folder,
    join_labels,
    label_folders,
    read_manifest,
)
from polyjudge.answers.humans.sheet import FORMAT, MANIFEST, VERSION, Look, manifest_text, page, words_of
from polyjudge.base.errors import PanelError, UsageError
from polyjudge.base.files import new_folder, read_text, write_text
from polyjudge.base.options import ColumnsAndJudges
from polyjudge.base.text import count, name, names, shell
from polyjudge.calibrate.labelled import Array, labelled
from polyjudge.panel import Panel
from polyjudge.read import read_panel, read_table
from polyjudge.read.columns import usual
from polyjudge.report.model import Finding, Report, Result, Section, Severity, Step, Table

if TYPE_CHECKING:
    import pandas as pd

Ask = Literal["pass", "levels", "slider"]


@dataclass(frozen=True, repr=False)
class Drawn(Result):
    """What was drawn. items : task, system, language, annotator; files : page, language, annotator, items"""

    items: pd.DataFrame
    files: pd.DataFrame
    folder: str
    findings: tuple[Finding, ...]
    panel_: Panel
    earlier_: str = ""

    @property
    def _all_labels(self) -> str:
        """The earlier labels with those that will come back."""
        return shell(",".join(part for part in (self.earlier_, self.folder) if part))

    def report(self) -> Report:
        """The report."""
        language = {"language": "name"} if len(self.panel_.languages) > 1 else {}
        kinds = {"page": "name", **language, "annotator": "name", "items": "count"}
        table = Table("files", "Pages for annotators", self.files, kinds, {"language": self.panel_.noun})
        scores, folder = shell(self.panel_.source or "scores.csv"), shell(self.folder)
        steps = (
            Step("", "Send each annotator a page. It works offline in a browser, and saves a file to send back."),
            Step(f"polyjudge label read {folder} -o labels.csv", "when the files are in that folder"),
            Step(f"polyjudge humans {scores} {self._all_labels}", "compare judges and people"),
        )
        pages, facts = (Section("pages", "Pages", tables=(table,)),), self.panel_.read_facts
        return Report("label make", "Answers to label", facts, self.findings, next=steps, sections=pages)


def draw_labels(
    panel: Panel | Any,
    *,
    n: int = 20,
    items: Any = None,
    output: Path = Path("labels"),
    annotators: int = 2,
    overlap: float = 0.3,
    ask: Ask | None = None,
    rubric: str | Mapping[str, str] = "",
    labels: Any = None,
    random: bool = False,
    overwrite: bool = False,
    seed: int = 0,
    **columns: Unpack[ColumnsAndJudges],
) -> Drawn:
    """Draw answers for people to label, and write a page for each annotator.

    A page works offline in any browser, by keyboard alone, in twenty languages; what an annotator saves there comes
    back as one small file. `polyjudge label read` joins the files.

    n : answers per language
    items : texts: a table or file with task, prompt and response (and language, system where texts differ by them)
    output : new folder for the pages
    annotators : annotators per language
    overlap : share of the answers that all annotators of a language get, so that their agreement can be told
    ask : pass, levels or slider; by the scale of the scores unless said
    rubric : how to judge: a text or a file with it; for each language its own as de=...,ar=... (texts or files)
    labels : labels that there are already (table, file, or folders with commas): their answers are not drawn again, and
        they decide where the next ones are of most use: in the languages with fewest, of systems that may be best
    random : draw from all languages and systems alike, whatever the labels so far say; or name them (--systems A,B)
    overwrite : replace pages that an earlier draw wrote there
    seed : number that fixes what is drawn at random

    Examples:
        polyjudge label make scores.csv --items items.jsonl -o labels
        polyjudge label make scores.csv --items items.jsonl -n 50 --ask pass --rubric rubric.txt -o labels
        polyjudge label make scores.csv --items items.jsonl --labels labels.csv -n 20 -o more
    """
    systems = columns.pop("systems", None)
    panel = read_panel(panel, **columns)
    _check(n, annotators, overlap, ask)
    if (Path(output) / MANIFEST).exists() and not overwrite:
        raise UsageError(
            f"{name(str(output), 200)} was drawn already, and annotators may have its pages: with another manifest "
            "their answers could not be read. Name a new folder, or --overwrite."
        )
    taken, two, scale, seen = np.zeros(panel.scores.shape[:3], dtype=bool), panel.two_valued, panel.scale, panel.scores
    chosen: NextLabels | None = None
    folders = label_folders(labels) if is_label_folder(labels) else []
    earlier = str(labels) if isinstance(labels, str | Path) else ""
    labels = join_labels(labels)
    labels = labels.labels if isinstance(labels, Returned) else labels
    if panel.human is not None or (labels is not None and (isinstance(labels, (str, Path)) or len(labels))):
        found = labelled(panel, labels)
        taken, two, scale, seen = np.isfinite(found.y), found.two_valued, found.scale, found.label
        scale = _asked_scale(folders, found.scale, panel.scale)
        chosen = None if random else where_of_use(panel, found, n, seed)
    allowed = allowed_answers(panel, systems, chosen)
    rubrics = _rubrics(rubric, panel.languages)
    question = _question(seen[np.isfinite(seen)][:100_000], scale, two, ask)
    drawn = draw(panel, n, taken | ~allowed, seed)
    if not drawn.any() and not allowed.all():
        raise UsageError(
            "Every answer of these systems and languages has a label already: --random draws from all the others."
        )
    if not drawn.any():
        raise UsageError("Every answer has a label already: there is nothing left to draw.")
    texts, known = _texts(panel, items, drawn)
    asked = json.dumps([question, rubrics, sorted((*place, *text) for place, text in texts.items())])
    digest = _digest(__version__, seed, annotators, overlap, panel.source, panel.facts, asked)[:16]
    shown = _deal(panel, drawn, annotators, overlap, digest, seed)
    pages: dict[str, str] = {}
    files: list[tuple[str, str, str, int]] = []
    for who, looks in shown.items():
        language, stem = panel.languages[looks[0].answer[2]], _stem(who, pages)
        rows = [(x.token, *texts[x.answer]) for x in looks]
        pages[f"{stem}.html"] = page(rows, language, stem, digest, question, rubrics[language])
        files.append((f"{stem}.html", language, who, len(looks)))
    every = [x for looks in shown.values() for x in looks]
    manifest = {
        "format": FORMAT, "version": VERSION, "polyjudge": __version__, "id": digest, "seed": seed, "ask": question,
        "shown": {x.token: _about(panel, x) for x in every},
        **expected_entry(chosen, int(taken.sum()), int(drawn.sum())),
        "pages": {file: hashlib.sha256(text.encode()).hexdigest() for file, text in pages.items()},
    }  # fmt: skip
    with new_folder(output, "label make", overwrite=overwrite) as folder:
        for file, text in pages.items():
            write_text(folder / file, text)
        write_text(folder / MANIFEST, manifest_text(manifest))
    import pandas as pd

    return Drawn(
        items=pd.DataFrame([_about(panel, x) for x in every]),
        files=pd.DataFrame(files, columns=["page", "language", "annotator", "items"]),
        folder=str(output),
        findings=_findings(panel, drawn, n, question, known, rubrics, allowed),
        panel_=panel,
        earlier_=earlier,
    )


def _asked_scale(
    folders: Sequence[Path], labelled: tuple[float, float], scored: tuple[float, float]
) -> tuple[float, float]:
    """The scale of labels: that of an earlier sheet; levels of the scores, if labels so far are some of them."""
    if folders:
        low, high = read_manifest(folders[0])["ask"]["to"]
        return low, high
    has_levels = scored[0] >= 0 and scored[1] <= 9
    return scored if has_levels and scored[0] <= labelled[0] and labelled[1] <= scored[1] else labelled


def _check(n: int, annotators: int, overlap: float, ask: str | None) -> None:
    if n < 1 or annotators < 1 or not 0 <= overlap <= 1:
        raise UsageError("n and annotators are whole numbers from 1 on, and overlap is a share from 0 to 1.")
    if ask not in (None, "pass", "levels", "slider"):
        raise UsageError(f"ask is pass, levels or slider, not {name(ask)!r}.")


def _rubrics(rubric: str | Mapping[str, str], languages: Sequence[str]) -> dict[str, str]:
    """The rubric of each language: of a mapping or of de=...,ar=... its own, else one for all."""
    if not isinstance(rubric, str):
        of_language = {language: _own_key(language, rubric) for language in languages}
        unknown = [key for key in rubric if key not in of_language.values()]
        if unknown:
            raise UsageError(f"There is no language {names(unknown)} in the scores: they have {names(languages)}.")
        return {language: _text_of(rubric[key] if key else "") for language, key in of_language.items()}
    by_language = _split_by_language(rubric, languages)
    return _rubrics(by_language, languages) if by_language else dict.fromkeys(languages, _text_of(rubric))


def _split_by_language(rubric: str, languages: Sequence[str]) -> dict[str, str]:
    """The texts of de=...,ar=... under their languages; none where it is one text for all."""
    names_of_data = "".join(f"{re.escape(x)}|" for x in languages if x)
    marks = re.finditer(rf"(?:^|,)\s*({names_of_data}[^\s,=]{{2,40}})=", rubric)
    starts = [mark for mark in marks if mark[1] in languages or words_of(mark[1])["known"]]
    if not any(languages) or not starts or starts[0].start() != 0:
        return {}
    ends = [start.start() for start in starts[1:]] + [len(rubric)]
    return {start[1]: rubric[start.end() : end].strip() for start, end in zip(starts, ends, strict=True)}


def _own_key(language: str, rubric: Mapping[str, str]) -> str | None:
    """The key that names a language: itself, or another name or the code of it (fr for French)."""
    if language in rubric:
        return language
    words = words_of(language)
    same = [key for key in rubric if words["known"] and words_of(key) == words]
    return same[0] if same else None


def _text_of(rubric: str) -> str:
    if 0 < len(rubric) < 200 and Path(rubric).is_file():
        return read_text(rubric)
    if re.fullmatch(r"\S+\.(?:txt|md)", rubric):
        raise UsageError(f"There is no file {name(rubric)} with a rubric.")
    return rubric


def _question(seen: Array, scale: tuple[float, float], two: bool, ask: Ask | None) -> dict[str, Any]:
    """What is asked: the kind of answer, and the labels that answers stand for; as earlier labels are, if any."""
    low, high = scale
    whole = bool((np.abs(seen - np.round(seen)) < 1e-9).all()) and float(low).is_integer() and low >= 0 and high <= 9
    ask = ask or ("pass" if two else "levels" if whole else "slider")
    if ask == "levels" and not whole:
        raise UsageError(
            f"Levels fit scores that are whole numbers from 0 to 9; these go from {low:g} to {high:g}. "
            "Ask for pass, or a slider."
        )
    values = list(range(int(low), int(high) + 1)) if ask == "levels" else []
    return {"kind": ask, "values": values, "to": [low, high], "low": 0, "high": 100, "step": 1}


def draw(panel: Panel, n: int, taken: NDArray[np.bool_], seed: int) -> NDArray[np.bool_]:
    """Which answers (rows, systems, languages): n in each language, at random among those that are scored and not
    taken; all languages go through the tasks in one order, and systems take turns."""
    rng = np.random.default_rng(seed)
    rows, s, k = taken.shape
    order, first = rng.permutation(rows), rng.permutation(s)
    free = np.isfinite(panel.scores).any(3) & ~taken
    out = np.zeros_like(taken)
    row = np.tile(order, s)
    system = first[np.add.outer(np.arange(s), np.arange(rows)).ravel() % s]  # of each task once, then the next
    for i in range(k):
        at = np.flatnonzero(free[row, system, i])[:n]
        out[row[at], system[at], i] = True
    return out


def _deal(
    panel: Panel, drawn: NDArray[np.bool_], annotators: int, overlap: float, digest: str, seed: int
) -> dict[str, list[Look]]:
    """What each annotator is shown, in order: all of them some answers, the rest in turn."""
    rng = np.random.default_rng([seed, 1])
    shown: dict[str, list[Look]] = {}
    for i, language in enumerate(panel.languages):
        answers = rng.permutation(np.argwhere(drawn[:, :, i]))
        both = round(overlap * len(answers)) if annotators > 1 else 0
        both = max(both, 1) if overlap > 0 and annotators > 1 else both
        for a in range(annotators):
            mine = np.concatenate([answers[:both], answers[both:][a::annotators]])
            who = f"{language or 'annotator'}-{a + 1}"
            deal = rng.permutation(mine)
            looks = [Look(_digest(digest, who, r, s, i)[:14], (int(r), int(s), i), who) for r, s in deal]
            if looks:
                shown[who] = looks
    return shown


def _about(panel: Panel, look: Look) -> dict[str, str]:
    r, s, i = look.answer
    system = {"system": panel.systems[s]} if panel.has_systems else {}
    return {"task": panel.tasks[r], **system, "language": panel.languages[i], "annotator": look.annotator}


def _stem(who: str, used: Iterable[str]) -> str:
    """A file name that no page has yet."""
    stem = re.sub(r"[^\w+-]+", "_", who).strip("_")[:80] or "annotator"
    while f"{stem}.html".casefold() in {x.casefold() for x in used}:
        stem += "_"
    return stem


def _digest(*parts: object) -> str:
    return hashlib.sha256("\0".join(map(str, parts)).encode("utf-8", "surrogatepass")).hexdigest()


# --- texts ---


Texts = dict[tuple[int, int, int], tuple[str, str]]


def _texts(panel: Panel, items: Any, drawn: NDArray[np.bool_]) -> tuple[Texts, bool]:
    """Prompt and response of each drawn answer, and whether they are known: else its name, for people to look it up."""
    at = [(int(r), int(s), int(i)) for r, s, i in np.argwhere(drawn)]
    frame = items if items is None or hasattr(items, "iloc") else read_table(items)
    if frame is None and panel.texts is not None:
        frame = panel.texts(list(dict.fromkeys(panel.tasks[r] for r, _, _ in at)))
        frame = frame if "response" in frame.columns else None
    if frame is None and panel.has_systems:
        raise UsageError(
            "Annotators need the texts of the answers: name a file of them (--items, with the columns task, system, "
            "language, prompt, response)."
        )
    if frame is None:
        return {x: ("", panel.tasks[x[0]]) for x in at}, False
    columns = [str(c) for c in frame.columns]
    axes = ("task", "system", "language", "prompt", "response")
    roles = {role: [*usual(role, columns), *usual("model", columns * (role == "system")), None][0] for role in axes}
    if roles["task"] is None or roles["response"] is None:
        raise PanelError(f"Items need the columns task and response; there are {names(columns, 8)}.")
    parts = [
        [""] * len(frame) if column is None else ["" if x is None or x != x else str(x) for x in frame[column]]
        for column in roles.values()
    ]
    found = {(t, s, x): (prompt, response) for t, s, x, prompt, response in zip(*parts, strict=True)}
    out, lacking = {}, []
    for r, s, i in at:
        t, system, language = panel.tasks[r], panel.systems[s], panel.languages[i]
        keys = [(t, a, b) for a in (system, "") for b in (language, "")]
        text = next((found[k] for k in keys if k in found), None)
        if text is None:
            lacking.append(f"{t}{f' in {language}' if language else ''}")
        else:
            out[r, s, i] = text
    if lacking:
        raise PanelError(
            f"The items hold no text of {count(len(lacking), 'drawn answer')}: {names(lacking, 3)}. Items need the "
            "columns task, response and, where texts differ by them, language and system."
        )
    return out, True


# --- what is said ---


def _findings(
    panel: Panel, drawn: NDArray[np.bool_], n: int, question: dict[str, Any], known: bool, rubrics: dict[str, str],
    allowed: NDArray[np.bool_],
) -> tuple[Finding, ...]:  # fmt: skip
    kind = {"pass": "pass or fail", "levels": "a level", "slider": "a number from 0 to 100"}[question["kind"]]
    found = drawn_findings(panel, drawn, allowed, n, kind)
    is_asked = np.any(allowed, axis=(0, 1))
    unknown = [
        x for x, asked in zip(panel.languages, is_asked, strict=True) if asked and x and not words_of(x)["known"]
    ]
    texts = "" if known else "The pages show names of tasks only. For the texts name a file of them: --items."
    english = f"The buttons of the page are in English for {names(unknown)}." if unknown else ""
    said = (("notice", "texts", texts), ("notice", "rubric", _rubric_words(rubrics)), ("info", "english", english))
    more: list[tuple[Severity, str, str]] = [(how, key, text) for how, key, text in said if text]  # type: ignore[misc]
    return (*found, *(Finding(how, f"label.{key}", text, "Drawn") for how, key, text in more))


def _rubric_words(rubrics: dict[str, str]) -> str:
    """What is to be said of the rubric: that there is none, or one text for annotators of several languages."""
    without = [language or "the scores" for language, text in rubrics.items() if not text]
    if len(without) == len(rubrics):
        return "There is no rubric on the pages: --rubric says how to judge."
    if without:
        return f"There is no rubric for {names(without)}."
    if len(rubrics) == 1 or len(set(rubrics.values())) > 1:
        return ""
    example = ",".join(f"{language}=..." for language in list(rubrics)[:3])
    return f"Annotators of all languages read one and the same rubric. One for each language: --rubric {example}"
