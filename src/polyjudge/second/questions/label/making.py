"""`label make`: draw the items, deal them out to annotators, and keep in a manifest what must stay blind."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd

from polyjudge._version import __version__
from polyjudge.second.estimate.label_budget import labels_more
from polyjudge.second.panel.errors import PanelError, UsageError
from polyjudge.second.panel.files import first_folder, write_texts
from polyjudge.second.panel.gold import Gold, align_gold, by_answer
from polyjudge.second.panel.labels import clean, some
from polyjudge.second.panel.panel import Panel
from polyjudge.second.panel.say import Say, say
from polyjudge.second.panel.scale import scale_of
from polyjudge.second.questions.label.draw import Draw, draw_items
from polyjudge.second.questions.label.sheets import ANSWERS, Shown, write_sheets
from polyjudge.second.questions.label.texts import Texts, words_of
from polyjudge.second.read.label_folder import FORMAT, MANIFEST, VERSION, manifest_text, read_label_folder, read_manifest
from polyjudge.second.report.result import Result

Kind = Literal["pass", "levels", "slider", "pairs"]
KINDS: tuple[Kind, ...] = ("pass", "levels", "slider", "pairs")
LINKED = 10
"""Items of each of two languages for an annotator who reads both."""
APART = 8
"""Items between the first and the second look at one."""
MOST = 9
"""Levels that digits can choose."""


class Made(Result):
    """What was written. `files` has a row per annotator: page, language, annotator, items (with second looks)."""

    folder: str
    files: pd.DataFrame
    items: int
    """Different items in this draw, over all languages."""
    drawn: pd.DataFrame
    """language, stratum, panel_low, panel_high, tasks, drawn, probability"""
    ask: str
    round: int
    seed: int
    notes: tuple[Say, ...] = ()


def make(
    panel: Panel,
    items: Any = None,
    output: str | Path = "labels",
    *,
    per_language: int | None = None,
    annotators: int | None = None,
    ask: Kind | None = None,
    levels: int | None = None,
    rubric: Any = None,
    overlap: float = 0.3,
    repeats: float = 0.1,
    link: bool = False,
    more: bool = False,
    within: float | None = None,
    seed: int = 7,
) -> Made:
    """Choose what to label and write pages, sheets and the manifest into a folder.

    items : table or file with task, [system,] [language,] prompt and response (or response_a, response_b); None shows
        names only
    per_language, annotators : items and annotators of each language (50 and 2, or as many people as the folder has);
        `overlap` is the share of items that all of them get, `repeats` the share that each sees twice
    ask : pass, levels, slider or pairs; by the panel's scale when not given
    rubric : how to judge, one text for all or {language: text}
    link : also write pages for annotators who read two languages: they tell severity from language
    more : add to a folder that has labels already; `per_language` is then what brings each shift to `within` points
    """
    _check(per_language, 2 if annotators is None else annotators, overlap, repeats, ask, levels)
    units = panel.by_system()
    tasks, systems = panel.answers() if panel.systems else (list(panel.tasks), [])
    folder, notes = Path(output), []
    old = _before(folder, more)
    annotators = annotators or _people(old)
    asked = old["ask"] if old else _ask(panel, ask, levels)
    texts = Texts.of(items, asked["kind"])
    labels, cuts, taken = _so_far(panel, units, folder, old, tasks, systems)
    if labels is not None and any(n.code == "gold.other-scores" for n in labels.notes):
        notes.append(say("label.other-scores"))
    if more and per_language is None:
        per_language = labels_next(units, labels, within)
    drawn = draw_items(units, tasks, systems, per_language or 50, seed, labels, cuts, taken)
    if not drawn.new.any():
        raise UsageError("Every item is labelled or given out already: there is nothing more to draw.")
    few = [x for x, n in zip(panel.languages, drawn.new.sum(axis=0), strict=True) if n < (per_language or 50)]
    if few and not more:
        notes.append(say("label.all-drawn", languages=few))
    number = (old["rounds"] if old else 0) + 1
    name = old["id"] if old else _digest(panel.fingerprint, seed, json.dumps(asked, sort_keys=True))[:16]
    dealt = _deal(drawn, panel, tasks, systems, asked, annotators, overlap, repeats, link, name, number, seed)
    manifest = _manifest(old, panel, asked, drawn, dealt, name, number, seed)
    shown = _with_texts(dealt, manifest, texts, asked, rubric, notes)
    # A first round comes as a whole folder; a later one counts once the manifest names it.
    with first_folder(folder) if old is None else nullcontext(folder) as place:
        written = write_sheets(place, shown, asked, name)
        write_texts(place, {MANIFEST: manifest_text(manifest)})
    return Made(
        folder=str(folder),
        files=written,
        items=int(drawn.new.sum()),
        drawn=_strata_table(units, drawn),
        ask=asked["kind"],
        round=number,
        seed=seed,
        notes=tuple(notes),
    )


def _people(old: dict[str, Any] | None) -> int:
    """Annotators of a language in a folder, those of two languages aside; 2 in a new one."""
    names = {look["annotator"] for look in old["shown"].values()} if old else set()
    by_language = Counter(name.rpartition("-")[0] for name in names if not name.startswith("link-"))
    return max(by_language.values(), default=2)


def _check(
    per_language: int | None, annotators: int, overlap: float, repeats: float, ask: Any, levels: int | None
) -> None:
    if per_language is not None and per_language < 2:
        raise UsageError("At least two items a language are needed for an interval.")
    if annotators < 1:
        raise UsageError("At least one annotator a language is needed.")
    if not (0 <= overlap <= 1 and 0 <= repeats <= 0.5):
        raise UsageError("overlap is a share from 0 to 1, repeats one from 0 to 0.5.")
    if ask is not None and ask not in KINDS:
        raise UsageError(f"ask is pass, levels, slider or pairs, not {clean(ask)!r}.")
    if levels is not None and not 2 <= levels <= MOST:
        raise UsageError(f"levels is a number from 2 to {MOST}: digits choose them.")


def _before(folder: Path, more: bool) -> dict[str, Any] | None:
    if more:
        return read_manifest(folder)
    if folder.exists() and any(folder.iterdir()):
        raise UsageError(
            f"{clean(folder, 200)} is not empty. Name a new folder, or add --more to draw further items there: answers "
            "that came back are never replaced."
        )
    return None


def _ask(panel: Panel, kind: Kind | None, levels: int | None) -> dict[str, Any]:
    """What is asked: the kind of answer, and the values that answers stand for, on the panel's scale."""
    scale = scale_of(panel)
    low, high = scale.ends
    usual: dict[str, Kind] = {"binary": "pass", "likert": "levels"}
    margins = panel.reading is not None and panel.reading.values.get("kind") == "margins"
    kind = kind or ("levels" if levels else "pairs" if margins else usual.get(scale.kind, "slider"))
    if kind == "pairs":
        values = [1.0, 0.0, -1.0]
    elif kind == "pass":
        values = [high, low]
    elif kind == "levels":
        steps = levels or (int(high - low) + 1 if scale.kind == "likert" and high - low < MOST else 5)
        values = [float(x) for x in np.linspace(low, high, steps)]
    else:
        values = []
    # a slider runs from 0 to 100 whatever the scale: its answers are carried over when they are read
    return {"kind": kind, "low": 0, "high": 100, "step": 1, "to": [low, high], "values": values, "choices": []}


def _so_far(
    panel: Panel, units: Panel, folder: Path, old: dict[str, Any] | None, tasks: list[str], systems: list[str]
) -> tuple[Gold | None, dict[str, list[float]] | None, Any]:
    """Labels, strata and drawn items of earlier rounds."""
    if old is None:
        return None, None, None
    keys = {pair: i for i, pair in enumerate(zip(tasks, systems or [""] * len(tasks), strict=True))}
    taken = np.zeros(units.shape[:2], bool)
    lost = 0
    for item in old["items"].values():
        unit = keys.get((item["task"], item.get("system") or ""))
        if unit is None or item["language"] not in panel.languages:
            lost += 1
        else:
            taken[unit, panel.languages.index(item["language"])] = True
    if lost > len(old["items"]) / 2:
        raise PanelError(f"{lost} of {len(old['items'])} items of {MANIFEST} are not in these scores: another panel?")
    cuts = {language: part["cuts"] for language, part in old["design"].items()}
    found = read_label_folder(folder)
    if found.labels.empty:
        return None, cuts, taken
    return align_gold(*by_answer(panel, found.labels)), cuts, taken


def labels_next(units: Panel, labels: Gold | None, within: float | None) -> int:
    """Further labels a language that bring the panel's error to +-`within` (5% of the scale), as `anchor` says."""
    if labels is None or labels.kind != "score":
        return 50
    low, high = units.range
    return labels_more(units, labels, within or 0.05 * (high - low)) or 10


def _digest(*parts: object) -> str:
    return hashlib.sha256("\0".join(map(str, parts)).encode("utf-8", "surrogatepass")).hexdigest()


def _deal(
    drawn: Draw, panel: Panel, tasks: list[str], systems: list[str], asked: Mapping[str, Any], annotators: int,
    overlap: float, repeats: float, link: bool, name: str, number: int, seed: int,
) -> dict[tuple[str, str], list[dict[str, Any]]]:  # fmt: skip
    """What each annotator of each language is shown, in order: (language, annotator) -> items."""
    out: dict[tuple[str, str], list[dict[str, Any]]] = {}
    pools: dict[str, list[dict[str, Any]]] = {}
    for i, language in enumerate(panel.languages):
        rng = np.random.default_rng([seed, number, i])
        pool = []
        for unit in rng.permutation(np.flatnonzero(drawn.new[:, i])):
            item = {"task": tasks[unit], "system": systems[unit] if systems else "", "language": language}
            item |= {"stratum": int(drawn.stratum[unit, i]), "probability": float(drawn.probability[unit, i])}
            pool.append({**item, "round": number, "id": "i" + _digest(name, *item.values())[:12]})
        pools[language] = pool
        shared = round(overlap * len(pool)) if annotators > 1 else 0
        for a in range(annotators):
            mine = [*pool[:shared], *pool[shared:][a::annotators]]
            mine = [mine[j] for j in rng.permutation(len(mine))]
            again = mine[: round(repeats * len(mine))] if len(mine) >= 2 * APART else []
            who = f"{language}-{a + 1}"
            out[language, who] = _looks([*mine, *again], len(mine), who, asked["kind"], name, rng)
    base = panel.languages[0]
    for i, language in enumerate(panel.languages[1:] if link else ()):
        rng = np.random.default_rng([seed, number, i, 1])
        both = [*pools[base][:LINKED], *pools[language][:LINKED]]
        both = [both[j] for j in rng.permutation(len(both))]
        who = f"link-{base}-{language}"
        out[f"{base} + {language}", who] = _looks(both, len(both), who, asked["kind"], name, rng)
    return {key: looks for key, looks in out.items() if looks}


def _looks(
    items: list[dict[str, Any]], first: int, who: str, kind: str, name: str, rng: np.random.Generator
) -> list[dict[str, Any]]:
    """Items with a token for each look; second looks come late, pairs in either order and then in the other one."""
    swapped: dict[str, bool] = {}
    out = []
    for i, item in enumerate(items):
        again = i >= first
        swap = kind == "pairs" and (not swapped[item["id"]] if again else bool(rng.random() < 0.5))
        swapped[item["id"]] = swap
        token = _digest(name, who, item["id"], again, "look")[:14]
        out.append({"token": token, "item": item, "annotator": who, "again": again, "swapped": swap})
    return out


def _manifest(
    old: dict[str, Any] | None, panel: Panel, asked: dict[str, Any], drawn: Draw, dealt: Mapping[Any, Any],
    name: str, number: int, seed: int,
) -> dict[str, Any]:  # fmt: skip
    items, shown = (dict(old[part]) if old else {} for part in ("items", "shown"))
    design = {}
    for i, language in enumerate(panel.languages):
        h = drawn.stratum[:, i]
        count = len(drawn.cuts.get(language, ())) + 1
        sizes = np.bincount(h[h >= 0], minlength=count)
        chosen = np.bincount(h[drawn.chosen[:, i]], minlength=count)
        design[language] = {"cuts": drawn.cuts.get(language, []), "sizes": sizes.tolist(), "drawn": chosen.tolist()}
    for looks in dealt.values():
        for look in looks:
            item = look["item"]
            items[item["id"]] = {key: value for key, value in item.items() if key != "id"}
            shown[look["token"]] = {"item": item["id"]} | {k: look[k] for k in ("annotator", "again", "swapped")}
    for item in items.values():  # a later draw from the same stratum raises the chance of all its items
        h = item["stratum"]
        part = design.get(item["language"])
        if part and part["sizes"][h]:
            item["probability"] = part["drawn"][h] / part["sizes"][h]
    words = [words_of(language) for language in panel.languages]
    return {
        "format": FORMAT, "version": VERSION, "polyjudge": __version__, "id": name, "rounds": number, "seed": seed,
        "fingerprint": panel.fingerprint, "ask": asked | {"choices": choices(asked, words)},
        "design": design, "items": items, "shown": shown,
    }  # fmt: skip


def choices(asked: Mapping[str, Any], words: list[dict[str, str]]) -> list[tuple[float, str]]:
    """Values and the words for them in each of the languages; what a sheet may hold as an answer."""
    names = ANSWERS.get(asked["kind"])
    if names is None:
        return [(value, f"{value:g}") for value in asked["values"]]
    found = {(value, w[name]): None for w in words for value, name in zip(asked["values"], names, strict=True)}
    return list(found)


def _with_texts(
    dealt: Mapping[tuple[str, str], list[dict[str, Any]]], manifest: dict[str, Any], texts: Texts,
    asked: dict[str, Any], rubric: Any, notes: list[Say],
) -> list[Shown]:  # fmt: skip
    """What every file shows: tokens and texts, nothing that must stay blind."""
    out, lacking = [], []
    for (language, who), looks in dealt.items():
        rows = []
        for look in looks:
            item = look["item"]
            found = texts.of_item(item["task"], item["system"], item["language"])
            if found is None:
                lacking.append(f"{item['task']} in {item['language']}")
                continue
            prompt, responses = found
            rows.append((look["token"], prompt, responses[::-1] if look["swapped"] else responses))
        main = looks[0]["item"]["language"] if " + " in language else language
        how = rubric.get(main, rubric.get(language, "")) if isinstance(rubric, Mapping) else rubric or ""
        out.append(Shown(language=language, annotator=who, words=words_of(main), rubric=str(how), rows=rows))
    if lacking:
        raise PanelError(
            f"{len(lacking)} of the drawn items have no text in the items file: {some(lacking, 3)}. Items need the "
            "columns task, language (where texts differ), system (where answers do), prompt and response."
        )
    if not texts.known:
        notes.append(say("label.no-texts"))
    unknown = [x for x in {s.language for s in out} if " + " not in x and not words_of(x)["known"]]
    if unknown:
        notes.append(say("label.english", languages=sorted(unknown)))
    return out


def _strata_table(units: Panel, drawn: Draw) -> pd.DataFrame:
    rows = []
    low, high = units.range
    for i, language in enumerate(units.languages):
        edges = [low, *drawn.cuts.get(language, ()), high]
        for h in range(len(edges) - 1):
            inside = drawn.stratum[:, i] == h
            n, size = int(drawn.chosen[inside, i].sum()), int(inside.sum())
            rows.append((language, h + 1, edges[h], edges[h + 1], size, n, n / size if size else np.nan))
    return pd.DataFrame(
        rows, columns=["language", "stratum", "panel_low", "panel_high", "tasks", "drawn", "probability"]
    )
