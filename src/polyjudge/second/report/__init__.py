"""Results in words: terminal, page, notebook, Markdown, JSON.

How a result comes to be seen everywhere, all in the folder of its question:

1. the analysis computes it: a frozen `Result`, findings and notes as data (`find("warning", "code", judge=..., ...)`,
   `say("code", ...)`), no prose;
2. `view.py` has `VIEWS`: name of a type of result -> a function (result, panel) -> Report: which sentences, tables,
   grids and charts, in which order. The head of a table is noted as in `report.build.column`;
3. `words.py` words the codes: `"code": "{judge} is off by {size/low/high:+points} points."`

A new statistic of a known result is one field in the analysis, one column or sentence in the view and one entry in the
words. Charts are functions in `report/charts/`, named by `Chart(draw=...)`. Nothing else needs to know:
`print(result)`, the terminal, `report.html`, notebooks, `summary.md` and `--json` show any `Report`.
"""

from polyjudge.second.report.result import report_of

__all__ = ["report_of"]
