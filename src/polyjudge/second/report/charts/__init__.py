"""Charts: one function each, results in and a Vega-Lite picture out, for page, notebooks and files alike."""

from dataclasses import replace
from weakref import WeakKeyDictionary

from polyjudge.second.report.charts import grids, lines
from polyjudge.second.report.charts.vega import Picture
from polyjudge.second.report.fit import Tongue
from polyjudge.second.report.sections import Chart

_drawn: WeakKeyDictionary[Chart, list[Picture]] = WeakKeyDictionary()


def draw(block: Chart) -> list[Picture]:
    """The pictures of a chart. The page and the saved figures share them."""
    if block not in _drawn:
        function = getattr(lines if hasattr(lines, block.draw) else grids, block.draw)
        words = Tongue(block.noun, block.unit)
        drawn = [function(**data) for data in block.data]
        _drawn[block] = [replace(p, spec=words.picture(p.spec)) for p in drawn]
    return _drawn[block]
