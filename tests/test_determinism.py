"""The same digits on any number of threads of the engine, and whenever a file is read again."""

from __future__ import annotations

from pathlib import Path

import duckdb
import numpy as np
import pytest

from polyjudge.answers.audit.audit import audit
from polyjudge.read import read_panel, rows, table

ROWS = """SELECT 'task' || t AS task, 'system ' || s AS system, 'language ' || l AS language, 'judge ' || j AS judge,
    round(50 + 10 * sin(t * 1.7) - s + 20 * ((hash(t * 1000 + s * 100 + l * 10 + j) % 1009) / 1009.0 - 0.5), 1) AS score
    FROM range({tasks}) a(t), range(2) b(s), range(3) c(l), range(4) d(j)
    WHERE hash(t * 7919 + s * 31 + l * 7 + j) % 10 < {tenths}"""


def written(path: Path, tasks: int, tenths: int, order: str = "t, s, l, j") -> Path:
    duckdb.connect().execute(f"COPY ({ROWS.format(tasks=tasks, tenths=tenths)} ORDER BY {order}) TO '{path}'")
    return path


@pytest.mark.parametrize("tenths", [8, 10])
def test_hashed_units_do_not_depend_on_threads_or_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tenths: int
) -> None:
    """Sums that leave the engine are sums of whole numbers: equal to the last bit, in any order of rows."""
    monkeypatch.setattr(rows, "MOST_TASKS", 300)
    first = written(tmp_path / "a.parquet", 3_000, tenths)
    second = written(tmp_path / "b.parquet", 3_000, tenths, "hash(score + t)")
    connect, found = table.connect, []
    for path, threads in ((first, 1), (first, 2), (first, 4), (second, 4)):

        def limited(*given: object, threads: int = threads) -> object:
            con = connect(*given)  # type: ignore[arg-type]
            con.execute(f"SET threads = {threads}")
            return con

        monkeypatch.setattr(table, "connect", limited)
        panel = read_panel(path)
        found.append((panel.scores, panel.unit, panel.weight, panel.passes(panel.scale[0], "floor").scores))
    for other in found[1:]:
        for one, two in zip(found[0], other, strict=True):
            assert np.array_equal(one, two, equal_nan=True)
    assert len(found[0][0]) > 1000


def test_rows_in_another_order_are_the_same_answer(tmp_path: Path) -> None:
    one = audit(written(tmp_path / "a.csv", 40, 9))
    two = audit(written(tmp_path / "b.csv", 40, 9, "hash(t * 31 + s + l + j)"))
    assert [f.text for f in one.findings] == [f.text for f in two.findings]
