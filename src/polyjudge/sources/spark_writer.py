"""Calibrated scores with Spark: the calibrator is a small table, broadcast to the workers and joined there."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from polyjudge.core.columns import Columns, find_columns
from polyjudge.core.errors import UsageError
from polyjudge.core.files import check_folder
from polyjudge.sources.warehouse import spark_frame, warehouse_errors

if TYPE_CHECKING:
    from polyjudge.calibrate.consensus import ConsensusCalibrator
    from polyjudge.sources.writers import Written


def calibrated_frame(cal: ConsensusCalibrator, frame: Any, columns: Columns, column: str, unseen: str) -> Any:
    """A Spark data frame with the calibrated scores as a new column."""
    if unseen == "error":
        _count(cal, frame, columns, unseen)
    return _joined(cal, frame, columns, column)


def write_with_spark(
    cal: ConsensusCalibrator,
    source: str,
    output: str | Path,
    column: str,
    unseen: str,
    partition_by: str | None,
    names: dict[str, Any],
    overwrite: bool = False,
) -> Written:
    """Read files with Spark and write a folder of Parquet files."""
    from polyjudge.sources.writers import MAKER, UNREAD, Written, score_folder

    output = Path(output)
    if output.suffix:
        raise UsageError("With --engine spark the output is a folder of Parquet files: a name without an ending.")
    check_folder(output, MAKER, overwrite)
    frame = spark_frame(source)
    found = {**{n: names.get(n) for n in ("task", "language", "judge", "score")}, **UNREAD}
    columns = find_columns(frame.columns, require_task=False, **found)  # type: ignore[arg-type]
    if column in frame.columns:
        raise UsageError(f"{source} already has a column {column!r}. Choose another name with --column.")
    rows, scored, strange = _count(cal, frame, columns, unseen)
    with score_folder(output, partition_by, overwrite) as part, warehouse_errors("Spark"):
        writer = _joined(cal, frame, columns, column).write.mode("append")
        if partition_by is not None:
            writer = writer.partitionBy(partition_by)
        writer.parquet(str(part))
    return Written(str(output), rows, rows - scored, strange)


def _count(cal: ConsensusCalibrator, frame: Any, columns: Columns, unseen: str) -> tuple[int, int, int]:
    from pyspark.sql import functions as f

    from polyjudge.sources.writers import check_seen

    with warehouse_errors("Spark"):
        number = f.col(_tick(columns.score)).try_cast("double")
        counted = (
            frame.groupBy(
                f.col(_tick(columns.language)).cast("string").alias("l"),
                f.col(_tick(columns.judge)).cast("string").alias("b"),
            )
            .agg(f.count(f.lit(1)).alias("n"), f.count(number).alias("scored"))
            .collect()
        )
    strange = check_seen(cal, [(r["l"], r["b"], r["n"]) for r in counted], unseen)
    return sum(r["n"] for r in counted), sum(r["scored"] for r in counted), strange


def _joined(cal: ConsensusCalibrator, frame: Any, columns: Columns, column: str) -> Any:
    from pyspark.sql import functions as f

    table = cal.correction_
    cells = [(str(a), str(b), float(table.loc[a, b])) for a in table.index for b in table.columns]
    with warehouse_errors("Spark"):
        names = ["polyjudge_language", "polyjudge_judge", "polyjudge_shift"]
        schema = f"{names[0]} string, {names[1]} string, {names[2]} double"
        small = frame.sparkSession.createDataFrame(cells, schema)
        match = (f.col(_tick(columns.language)).cast("string") == f.col(names[0])) & (
            f.col(_tick(columns.judge)).cast("string") == f.col(names[1])
        )
        shift = f.coalesce(f.col(names[2]), f.lit(0.0))
        joined = frame.join(f.broadcast(small), match, "left")
        return joined.withColumn(column, f.col(_tick(columns.score)).cast("double") - shift).drop(*names)


def _tick(column: str) -> str:
    return "`" + column.replace("`", "``") + "`"
