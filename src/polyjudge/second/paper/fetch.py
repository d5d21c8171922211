"""Fetch the authors' released scores into the user's cache. Only a file whose content was checked gets its name."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from polyjudge.second.panel.errors import PolyjudgeError
from polyjudge.second.panel.files import atomic_path, write_texts
from polyjudge.second.panel.labels import clean, tell
from polyjudge.second.panel.progress import track
from polyjudge.second.paper.published import Benchmark

REPOSITORY = "https://raw.githubusercontent.com/KurbanIntelligenceLab/multilingual-judge-calibration"
COMMIT = "4436df2ed3e93b402bd1d53db7cbbc3e45c5de73"
LABELS = "https://raw.githubusercontent.com/metauto-ai/agent-as-a-judge"
LABELS_COMMIT = "43c2fa7b84ef0c1522e8250576e6798bace29dd0"
"""The benchmark of which the DevAI tasks, their requirements and the human labels come (MIT licence)."""
LABEL_FILES = ("instances.jsonl", "human_labels.csv")
FILES: dict[Benchmark, str] = {
    "devai": "paper/analysis/run_level_scores.csv",
    "mrewardbench": "data/external_validation/mrewardbench_panel/analysis_1500_item/pilot_complete_panel.csv",
}
CACHE = "POLYJUDGE_CACHE"
"""Environment variable that moves the cache."""
SECONDS = 30
"""How long to wait for an answer of the server."""


class FetchError(PolyjudgeError):
    """A file could not be fetched, or what came is not the expected one."""


def fetch(
    benchmark: Benchmark, check: Callable[[Path], object], *, source: str = REPOSITORY, commit: str = COMMIT
) -> Path:
    """The path of the benchmark's file in the cache, downloaded when it is not there yet.

    `check` reads a file and raises a PolyjudgeError when it is not the expected one. It runs before the download gets
    its final name, and again on a file found in the cache; one that fails there is fetched anew.
    """
    target = _target(benchmark, commit)
    if target.exists():
        try:
            check(target)
            return target
        except PolyjudgeError:
            tell(f"{clean(str(target), 300)} is damaged; fetching it again.")
    url = f"{source}/{commit}/{FILES[benchmark]}"
    with atomic_path(target) as part:
        _download(url, part, benchmark)
        try:
            check(part)
        except PolyjudgeError as error:
            raise FetchError(
                f"What came from {url} is not the expected file, and was not kept: {error} "
                f"The download may have been cut, or the commit may be another one. {_by_hand(benchmark)}"
            ) from None
    return target


def fetch_labels(tasks: Sequence[str], frameworks: Sequence[str], *, source: str = LABELS) -> tuple[Path, Path]:
    """The benchmark's requirements and human labels in the cache: instances.jsonl and human_labels.csv.

    They are put together from one small file for each task, and for each task and framework.
    """
    if (have := cached_labels()) is not None:
        return have
    names = [f"devai/instances/{t}" for t in tasks]
    names += [f"judgment/{f}/human_as_a_judge/{t}" for f in frameworks for t in tasks]
    with tempfile.TemporaryDirectory() as folder:
        part, texts = Path(folder) / "part.json", []
        for name in track(names, len(names), "fetching requirements and labels"):
            _download(f"{source}/{LABELS_COMMIT}/benchmark/{quote(name)}.json", part, "devai")
            try:
                found = json.loads(part.read_text(encoding="utf-8"))
                texts.append({"query": found.get("query", ""), "requirements": list(found["requirements"])})
            except (ValueError, KeyError, TypeError):
                raise FetchError(f"{clean(name, 200)}.json of {source} is not what it was: nothing was kept.") from None
    split = len(tasks)
    lines = [json.dumps({"task": t, **one}, ensure_ascii=False) for t, one in zip(tasks, texts[:split], strict=True)]
    runs = [(t, f) for f in frameworks for t in tasks]
    rows = [
        f"{t},{f},{int(r['requirement_id'])},{int(bool(r['satisfied']))}"
        for (t, f), one in zip(runs, texts[split:], strict=True)
        for r in one["requirements"]
    ]
    head = "task,framework,requirement_id,satisfied"
    parts = zip(LABEL_FILES, (lines, [head, *rows]), strict=True)
    first, second = write_texts(cache_folder() / LABELS_COMMIT, {name: "\n".join([*part, ""]) for name, part in parts})
    return first, second


def cached_labels() -> tuple[Path, Path] | None:
    """The requirements and the labels in the cache, if they were fetched before."""
    first, second = (cache_folder() / LABELS_COMMIT / name for name in LABEL_FILES)
    return (first, second) if first.exists() and second.exists() else None


def cached(benchmark: Benchmark) -> Path | None:
    """The benchmark's file in the cache, if it was fetched before."""
    path = _target(benchmark, COMMIT)
    return path if path.exists() else None


def _target(benchmark: Benchmark, commit: str) -> Path:
    return cache_folder() / commit / Path(FILES[benchmark]).name


def cache_folder() -> Path:
    """The folder for fetched files: $POLYJUDGE_CACHE, or the place for caches of this system."""
    if os.environ.get(CACHE):
        return Path(os.environ[CACHE])
    return Path(str(_pooch().os_cache("polyjudge")))


def _download(url: str, part: Path, benchmark: Benchmark) -> None:
    pooch = _pooch()
    import requests

    load = pooch.HTTPDownloader(progressbar=sys.stderr.isatty(), timeout=SECONDS)
    try:
        load(url, str(part), None)
    except requests.HTTPError as error:
        code = error.response.status_code if error.response is not None else "an error"
        raise FetchError(f"The server answered {code} for {url}. {_by_hand(benchmark)}") from None
    except (requests.RequestException, OSError) as error:
        raise FetchError(
            f"Cannot fetch {url}: {clean(type(error).__name__)}. Is there a network? {_by_hand(benchmark)}"
        ) from None


def _by_hand(benchmark: Benchmark) -> str:
    return (
        f"With a copy of {FILES[benchmark]} from that repository at commit {COMMIT[:12]}, "
        f"run: polyjudge paper reproduce {benchmark} --data FILE"
    )


def _pooch() -> Any:
    try:
        import pooch
    except ImportError:
        raise FetchError(
            "Fetching needs the package pooch: install polyjudge[fetch], or pass a local file with --data FILE."
        ) from None
    return pooch
