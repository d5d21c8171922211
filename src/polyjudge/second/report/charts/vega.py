"""Vega-Lite specifications as plain dictionaries, written much as in Altair.

Altair copies and checks a chart at every step of building it: a page of twenty charts would wait for it longer than for
the audit. `plot` of a result makes an Altair chart of a picture, and the tests check them all against its schema.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import json
import re
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import pandas as pd

from polyjudge.second.panel.errors import UsageError
from polyjudge.second.panel.labels import clean

Spec = dict[str, Any]
TYPES = {"N": "nominal", "O": "ordinal", "Q": "quantitative"}
VIEW = {"continuousWidth": 300, "continuousHeight": 300}
"""Size of a view that has none."""


@dataclass(frozen=True, eq=False)
class Picture:
    """A view, or several layers or parts, and the rows that they name. Every method gives a new one."""

    spec: Spec = field(default_factory=dict)
    rows: dict[str, list[Spec]] = field(default_factory=dict)

    def encode(self, **channels: Any) -> Picture:
        return self.properties(encoding={**self.spec.get("encoding", {}), **channels})

    def mark(self, kind: str, **look: Any) -> Picture:
        return self.properties(mark={"type": kind, **look})

    def where(self, test: Any) -> Picture:
        """Only the rows for which the expression or predicate holds."""
        return self.properties(transform=[*self.spec.get("transform", []), {"filter": test}])

    def properties(self, **more: Any) -> Picture:
        return replace(self, spec={**self.spec, **more})

    def facet(self, by: Spec, **more: Any) -> Picture:
        """The same small picture for every value of a field."""
        inner = {key: value for key, value in self.spec.items() if key != "data"}
        return replace(self, spec={"data": self.spec["data"], "facet": by, "spec": inner, **more})

    def to_dict(self) -> Spec:
        """The whole specification. It shares its parts with the picture."""
        return {**self.spec, "datasets": self.rows}

    @cached_property
    def svg(self) -> str:
        """Compiled once: that takes most of the time, and every format starts from it."""
        draw = converter().vegalite_to_svg
        try:
            return str(draw(self.to_dict()))
        except ValueError:
            # It may cut a long label inside an emoji, and then not understand the half: they become squares.
            text = json.dumps(self.to_dict(), ensure_ascii=False)
            plain = json.loads(re.sub("[\U00010000-\U0010ffff]", "\N{WHITE SQUARE}", text))
        try:
            return str(draw(plain))
        except ValueError as error:
            why = clean(str(error).splitlines()[-1], 120)
            raise UsageError(f"The figures cannot be drawn here: {why}. Leave them out, or raise ulimit -n.") from None

    def _repr_svg_(self) -> str:
        return self.svg


def plot(data: pd.DataFrame) -> Picture:
    """An empty view on these rows."""
    text = data.to_json(orient="records", double_precision=15)
    name = "data-" + hashlib.sha256(text.encode()).hexdigest()[:16]
    return Picture({"data": {"name": name}}, {name: json.loads(text)})


def of(name: str, **more: Any) -> Spec:
    """A channel that shows a field, written as in Altair: `score:Q`."""
    column, _, kind = name.partition(":")
    return {"field": column, **({"type": TYPES[kind]} if kind else {}), **more}


def constant(value: Any) -> Spec:
    """A channel with the same value everywhere."""
    return {"value": value}


def when(test: str, yes: Spec, no: Spec) -> Spec:
    """A channel that is one of two, row by row."""
    return {"condition": {"test": test, **yes}, **no}


def bands(size: float) -> Spec:
    """A width or height of so many pixels for each value of the axis."""
    return {"step": size}


def broken_line(channel: str, at: float, **look: Any) -> Picture:
    """A broken line across a chart where the channel, x or y, has this value."""
    return (
        plot(pd.DataFrame({"at": [at]}))
        .mark("rule", strokeDash=[4, 3], **look, tooltip=None)
        .encode(**{channel: of("at:Q")})
    )


def layer(*views: Picture, **more: Any) -> Picture:
    """Views over each other. Rows that all of them share are named once."""
    data = [view.spec.get("data") for view in views]
    shared = {"data": data[0]} if data[0] is not None and all(d == data[0] for d in data) else {}
    parts = [{k: v for k, v in view.spec.items() if k not in shared} for view in views]
    return _together({**shared, "layer": parts, **more}, views)


def stacked(parts: list[Picture], way: str, **more: Any) -> Picture:
    """Finished pictures below ("vconcat") or beside each other ("hconcat"). What holds for all stands at the top."""
    top = ("config", "params")
    inner = [{k: v for k, v in part.spec.items() if k not in top} for part in parts]
    return _together({way: inner, **{k: parts[0].spec[k] for k in top}, **more}, tuple(parts))


def _together(spec: Spec, parts: tuple[Picture, ...]) -> Picture:
    return Picture(spec, {name: rows for part in parts for name, rows in part.rows.items()})


def _limited() -> bool:
    """Whether the address space is limited (ulimit -v): the drawing engine reserves tens of GB or aborts."""
    try:
        import resource
    except ImportError:  # Windows has no such limits
        return False
    return resource.getrlimit(resource.RLIMIT_AS)[0] != resource.RLIM_INFINITY


def can_draw() -> bool:
    """Whether pictures can be made here."""
    return importlib.util.find_spec("vl_convert") is not None and not _limited()


def converter() -> Any:
    """The package that draws without a browser."""
    if not can_draw():
        raise UsageError(
            "Figures cannot be drawn under a limit of the address space: run without ulimit -v."
            if _limited()
            else "Figures need a package that is not installed: pip install 'polyjudge[figures]'."
        )
    return importlib.import_module("vl_convert")
