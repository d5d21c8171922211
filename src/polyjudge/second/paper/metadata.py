"""Does the interaction go with something known of the languages: their script, family, resources?

The interaction of each judge is regressed on each column of a table of languages. Languages are the units: with as few
as panels have, only a very strong relation can show, and the result says how strong.
"""

from __future__ import annotations

import math
from itertools import permutations
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import stdtrit

from polyjudge.second.estimate.kernels import double_centre, stream
from polyjudge.second.estimate.resample import holm
from polyjudge.second.panel.arrays import Array
from polyjudge.second.panel.errors import PanelError
from polyjudge.second.panel.files import read_csv
from polyjudge.second.panel.labels import clean
from polyjudge.second.panel.panel import Panel
from polyjudge.second.panel.say import Say, say
from polyjudge.second.report.result import Result

FEWEST = 5
DRAWS = 5000


class Metadata(Result):
    """`table`: variable, judge, slope (points per standard deviation of the variable), low, high (t over languages).

    `variables`: variable, explained (share of the interaction's squares), p (languages permuted), p_holm, smallest (the
    share that would have to be explained for p to reach 5%).
    """

    table: pd.DataFrame
    variables: pd.DataFrame
    notes: tuple[Say, ...]


def metadata(panel: Panel, languages: Any, seed: int = 7) -> Metadata:
    """Regress the interaction on metadata: a table (or a CSV file) with a column `language` and columns to regress on.

    Columns of numbers are taken as they are; a column with two words becomes 0 and 1. With several columns each is
    regressed on alone, and the p-values are adjusted for their number.
    """
    frame = languages if isinstance(languages, pd.DataFrame) else read_csv(languages)
    columns = _columns(frame, panel.languages)
    beta = double_centre(panel.cell_means)
    orders = _orders(len(beta), seed)
    rows, variables = [], []
    for name, x in columns.items():
        slope = x @ beta / len(x)
        rest = beta - np.outer(x, slope)
        df = len(x) - 2
        radius = stdtrit(df, 0.975) * np.sqrt((rest**2).sum(axis=0) / df / len(x))
        rows += [(name, *row) for row in zip(panel.judges, slope, slope - radius, slope + radius, strict=True)]
        null = ((x[orders] @ beta) ** 2).sum(axis=1) / len(x) / (beta**2).sum()
        explained = float(((x @ beta) ** 2).sum() / len(x) / (beta**2).sum())
        p = float((1 + (null >= explained - 1e-12).sum()) / (1 + len(null)))
        variables.append((name, explained, p, float(np.quantile(null, 0.95))))
    out = pd.DataFrame(variables, columns=["variable", "explained", "p", "smallest"])
    out["p_holm"] = holm(out["p"].to_numpy())
    notes = (say("metadata.few", languages=len(beta), smallest=float(out["smallest"].min())), say("metadata.cause"))
    table = pd.DataFrame(rows, columns=["variable", "judge", "slope", "low", "high"])
    return Metadata(table=table, variables=out, notes=notes)


def _columns(frame: pd.DataFrame, languages: tuple[str, ...]) -> dict[str, Array]:
    """Each column over the panel's languages, mean 0 and sd 1."""
    if "language" not in frame:
        raise PanelError("The table of languages needs a column `language`, and columns of what is known of them.")
    frame = frame.assign(language=frame["language"].astype(str)).set_index("language")
    lacking = [x for x in languages if x not in frame.index]
    if lacking or frame.index.has_duplicates:
        raise PanelError(
            f"The table of languages lacks {', '.join(map(clean, lacking)) or 'one row for each language'}."
        )
    if len(languages) < FEWEST:
        raise PanelError(f"{len(languages)} languages are too few to relate anything to them; at least {FEWEST} are.")
    out = {}
    for name, column in frame.loc[list(languages)].items():
        values = pd.to_numeric(column, errors="coerce")
        if values.isna().all() and column.nunique() == 2:
            values = (column == sorted(column.unique())[1]).astype(float)
        if values.isna().any():
            raise PanelError(f"Column {clean(name)} is neither numbers nor two words for every language.")
        if values.nunique() < 2:
            raise PanelError(f"Column {clean(name)} is the same for all languages.")
        x = values.to_numpy(float)
        out[str(name)] = (x - x.mean()) / x.std()
    if not out:
        raise PanelError("The table of languages has no column beside `language`.")
    return out


def _orders(k: int, seed: int) -> NDArray[np.int64]:
    """Orders of the languages: all of them where they are few, else drawn."""
    if math.factorial(k) <= DRAWS:
        return np.array(list(permutations(range(k))))
    rng = stream(seed, 0, "metadata")
    return rng.permuted(np.tile(np.arange(k), (DRAWS, 1)), axis=1)
