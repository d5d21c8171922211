"""One benchmark from start to end: find or fetch its files, compute, write."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from polyjudge.second.panel.errors import UsageError
from polyjudge.second.panel.files import write_texts
from polyjudge.second.panel.progress import track
from polyjudge.second.paper import inputs as sources
from polyjudge.second.paper.any_panel import PaperReport
from polyjudge.second.paper.fetch import FetchError, cached, cached_labels, fetch, fetch_labels
from polyjudge.second.paper.ledger import Reproduction
from polyjudge.second.paper.printed import Table
from polyjudge.second.paper.published import Benchmark
from polyjudge.second.report.export import FORMATS, parse_formats, save_chart
from polyjudge.second.report.schema import to_json

Source = str | Path | None
SHARPNESS = 3
"""Pixels of a PNG per unit of its chart: about 290 dots per inch."""
NO_LABELS = (
    "The benchmark's human labels were not at hand, so nothing is said about whom calibration helps. They are fetched "
    "with the scores when --data is not given; --labels and --instances name files."
)


def reproduce(
    benchmark: Benchmark,
    data: Source = None,
    anchor: Source = None,
    *,
    labels: Source = None,
    instances: Source = None,
    judgments: Source = None,
    replication: Source = None,
    offline: bool = False,
    seed: int | None = None,
) -> Reproduction:
    """Compute the published numbers of a benchmark again, as many as the data at hand allow.

    data : the released scores; without it they are fetched once into the user's cache
    anchor : the human-anchor sample (M-RewardBench only)
    labels, instances : human labels and requirements of the DevAI benchmark; fetched together with the scores
    judgments : verdicts on single requirements (DevAI): the authors' folder or a CSV file of your own, for the
        ablation by requirement type and Dawid-Skene on requirements
    replication : the authors' repeat calls (DevAI, replication_scores.csv)
    offline : never use the network. M-RewardBench then falls back to the published matrices
    seed : own random draws; by default the published seeds are used
    """
    files = {"labels": labels, "instances": instances, "judgments": judgments, "replication": replication}
    if benchmark == "devai":
        if anchor is not None:
            raise UsageError(
                "The human anchor belongs to M-RewardBench: polyjudge paper reproduce mrewardbench --anchor FILE"
            )
        return _devai(data, files, offline, seed)
    if benchmark == "mrewardbench":
        if any(files.values()):
            raise UsageError(
                "Labels, instances, judgments and replication belong to DevAI: polyjudge paper reproduce devai."
            )
        return _mrewardbench(data, anchor, offline, seed)
    raise UsageError(f"The paper has the benchmarks devai and mrewardbench, not {benchmark!r}.")


def _devai(data: Source, files: dict[str, Source], offline: bool, seed: int | None) -> Reproduction:
    from polyjudge.second.paper import requirements as r
    from polyjudge.second.paper.devai import Types, reproduce_devai
    from polyjudge.second.paper.human_labels import read_labels

    labels, instances, judgments = files["labels"], files["instances"], files["judgments"]
    fetching = data is None and not offline
    if offline and data is None and (data := cached("devai")) is None:
        raise FetchError("The DevAI scores are not in the cache, and --offline forbids to fetch them: use --data FILE.")
    panel = sources.devai_panel(data or fetch("devai", sources.devai_panel))
    have = cached_labels()
    if have is None and fetching and (labels is None or instances is None):
        have = fetch_labels(panel.tasks, panel.replicates)
    instances, labels = instances or (have and have[0]), labels or (have and have[1])
    types = Types(r.typed(r.read_instances(instances)) if instances else None)
    if judgments is not None:
        if types.requirements is None:
            raise UsageError("--judgments needs the benchmark's requirements: add --instances FILE.")
        verdicts = r.read_judgments(judgments, types.requirements, panel)
        by_requirement = r.requirement_dawid_skene(verdicts, panel)
        types = Types(types.requirements, r.ablate_types(verdicts, panel, seed), by_requirement)
    verdicts_of = read_labels(labels, panel) if labels else None
    return reproduce_devai(panel, verdicts_of, types, files["replication"], seed, () if labels else (NO_LABELS,))


def _mrewardbench(data: Source, anchor: Source, offline: bool, seed: int | None) -> Reproduction:
    from polyjudge.second.paper.mrewardbench import reproduce_mrewardbench

    if data is None:
        try:
            data = cached("mrewardbench") if offline else fetch("mrewardbench", sources.mrewardbench_panel)
        except FetchError as error:
            raise FetchError(f"{error} Or add --offline: what the published matrices allow is then computed.") from None
    panel = None if data is None else sources.mrewardbench_panel(data)
    sample = None if anchor is None else sources.anchor_sample(anchor)
    return reproduce_mrewardbench(panel, sample, seed=seed)


def devai_instances(path: Source) -> list[dict[str, Any]]:
    """The benchmark's tasks: of a file, of the cache, or fetched."""
    from polyjudge.second.paper.requirements import read_instances

    have = None if path else cached_labels()
    if path is None and have is None:
        panel = sources.devai_panel(fetch("devai", sources.devai_panel))
        have = fetch_labels(panel.tasks, panel.replicates)
    return read_instances(have[0] if have else path or "")


def write(result: Reproduction | PaperReport, folder: str | Path, formats: Sequence[str] = FORMATS) -> list[Path]:
    """Write the report as a page, as Markdown and JSON, the tables and the figures; returns the paths."""
    from polyjudge.second.report import report_of
    from polyjudge.second.report.markdown import markdown
    from polyjudge.second.report.page.render import command_line, render_report

    folder, formats = Path(folder), parse_formats(",".join(formats)) if formats else ()
    report = report_of(result)
    assert report is not None
    texts = {
        "report.html": render_report(report, command_line()),
        "summary.md": markdown(report),
        f"{report.command.removeprefix('paper-')}.json": to_json(report.payload(), indent=1) + "\n",
    }
    if isinstance(result, Reproduction):
        texts["ledger.csv"] = Table("ledger", "", result.ledger.rows).csv()
    paths = write_texts(folder, texts)
    for table in result.tables:
        paths += table.write(folder / "tables")
    for name, draw in track(result.figures.items(), len(result.figures), "drawing figures") if formats else ():
        chart = draw()
        for ending in formats:
            paths.append(folder / "figures" / f"{name}.{ending}")
            save_chart(chart, paths[-1], SHARPNESS)
    return paths
