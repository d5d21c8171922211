"""One benchmark from start to end: find or fetch its files, compute, write."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from polyjudge.core.errors import UsageError
from polyjudge.core.files import atomic_write
from polyjudge.core.labels import clean
from polyjudge.core.progress import track
from polyjudge.paper import sources
from polyjudge.paper.fetch import FetchError, cached, fetch
from polyjudge.paper.ledger import VERDICTS
from polyjudge.paper.published import Benchmark
from polyjudge.paper.result import Reproduction
from polyjudge.paper.tables import Table, markdown_table, markdown_text

FORMATS = ("svg", "png", "pdf")


def reproduce(
    benchmark: Benchmark,
    data: str | Path | None = None,
    anchor: str | Path | None = None,
    *,
    offline: bool = False,
    seed: int | None = None,
) -> Reproduction:
    """Compute every published number of a benchmark again.

    Parameters
    ----------
    data : the released scores; without it they are fetched once into the user's cache
    anchor : the human-anchor sample (M-RewardBench only)
    offline : never use the network. M-RewardBench then falls back to the published matrices
    seed : own random draws; by default the published seeds are used
    """
    if benchmark == "devai":
        if anchor is not None:
            raise UsageError(
                "The human anchor belongs to M-RewardBench: polyjudge reproduce mrewardbench --anchor FILE"
            )
        return _devai(data, offline, seed)
    if benchmark == "mrewardbench":
        return _mrewardbench(data, anchor, offline, seed)
    raise UsageError(f"The paper has the benchmarks devai and mrewardbench, not {benchmark!r}.")


def _devai(data: str | Path | None, offline: bool, seed: int | None) -> Reproduction:
    from polyjudge.paper.devai_tables import reproduce_devai

    if data is None and offline:
        data = cached("devai")
        if data is None:
            raise FetchError(
                "The DevAI scores are not in the cache, and --offline forbids to fetch them: use --data FILE."
            )
    panel = sources.devai_panel(data or fetch("devai", sources.devai_panel))
    return reproduce_devai(panel, seed=seed)


def _mrewardbench(data: str | Path | None, anchor: str | Path | None, offline: bool, seed: int | None) -> Reproduction:
    from polyjudge.paper.mrewardbench import reproduce_mrewardbench

    if data is None:
        try:
            data = cached("mrewardbench") if offline else fetch("mrewardbench", sources.mrewardbench_panel)
        except FetchError as error:
            raise FetchError(f"{error} Or add --offline: what the published matrices allow is then computed.") from None
    panel = None if data is None else sources.mrewardbench_panel(data)
    sample = None if anchor is None else sources.anchor_sample(anchor)
    return reproduce_mrewardbench(panel, sample, seed=seed)


def write(result: Reproduction, folder: str | Path, formats: Iterable[str] = FORMATS) -> list[Path]:
    """Write ledger, corrections, tables and figures into a folder; returns the paths."""
    folder = Path(folder)
    formats = check_formats(formats)
    rows = Table("ledger", f"Ledger of {result.ledger.benchmark}", result.ledger.rows)
    paths = [folder / "ledger.csv", folder / "ledger.md", folder / "corrections.md"]
    for path, text in zip(paths, (rows.csv(), _ledger_page(result, rows), corrections_page(result)), strict=True):
        with atomic_write(path) as file:
            file.write(text)
    for table in result.tables:
        paths += table.write(folder / "tables")
    if formats:
        from polyjudge.paper import figures

        for name, draw in track(result.figures.items(), len(result.figures), "drawing figures"):
            paths += figures.write(draw(), folder / "figures", name, formats)
    return paths


def check_formats(formats: Iterable[str]) -> list[str]:
    """The formats as a list, or an error that names the possible ones."""
    formats = list(formats)
    unknown = [f for f in formats if f not in FORMATS]
    if unknown:
        raise UsageError(f"Figures can be {', '.join(FORMATS)} or none, not {clean(unknown[0])!r}.")
    return formats


def corrections_page(result: Reproduction) -> str:
    """What does not hold or is arithmetic, with what can be said instead, as Markdown."""
    out = ["# What does not hold, what is arithmetic, and what can be said instead", ""]
    for c in result.corrections:
        out += [
            f"**{markdown_text(c.claim)}**",
            "",
            f"- Published: {markdown_text(c.published)}",
            f"- Instead: {markdown_text(c.correct)}",
            f"- Why: {markdown_text(c.why)}",
            "",
        ]
    return "\n".join(out)


def _ledger_page(result: Reproduction, rows: Table) -> str:
    counts = result.ledger.counts
    lines = [f"- {verdict} ({counts[verdict]}): {meaning}" for verdict, meaning in VERDICTS.items()]
    head = f"# {markdown_text(rows.title)}\n\n" + "\n".join(lines)
    notes = "".join(f"\n{markdown_text(note)}" for note in result.notes)
    return f"{head}\n{notes}\n\n{markdown_table(rows.frame.drop(columns='key'))}"
