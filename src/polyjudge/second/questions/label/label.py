"""`polyjudge.label`: `make` what annotators get, `read` what came back."""

from __future__ import annotations

from functools import wraps
from inspect import signature
from typing import Any

from polyjudge.second.panel.panel import Panel
from polyjudge.second.questions.label import making, returned


@wraps(making.make)
def _make(panel: Any, *given: Any, **options: Any) -> making.Made:
    from polyjudge.second.read import read_panel

    columns = {n: options.pop(n) for n in list(options) if n not in signature(making.make).parameters}
    return making.make(panel if isinstance(panel, Panel) else read_panel(panel, **columns), *given, **options)


class Label:
    """Human labels: `make` chooses items and writes pages and sheets, `read` joins what came back.

    >>> import polyjudge.second as pj, tempfile
    >>> folder = tempfile.mkdtemp()
    >>> made = pj.label.make(pj.simulate_panel(seed=1)[0], output=folder, per_language=10)
    >>> pj.label.read(folder).missing == made.files["items"].sum()
    np.True_
    """

    make = staticmethod(_make)
    read = staticmethod(returned.read)


label = Label()
