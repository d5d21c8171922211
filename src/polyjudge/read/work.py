"""What the readers share: a source while it is read, and how it was read in the end."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from polyjudge.panel import Panel
from polyjudge.read.columns import Asked, Roles
from polyjudge.read.table import Table

if TYPE_CHECKING:
    pass

Array = NDArray[np.float64]


@dataclass
class Reading:
    """How a source was read: role -> column in words, distinct scores, number of rows that say that they failed."""

    panel: Panel
    roles: dict[str, str]
    unused: tuple[str, ...]
    levels: Array
    failed: int
    tool: str = ""


@dataclass
class Work:
    """What is known while a source is read.

    raw : the chosen columns as they are written, as what stands after FROM
    typed : their rows with scores as numbers, one row a score
    keys : role -> SQL of its labels in `raw`
    types : column -> its type
    tasks : the numbers of tasks, as what stands after FROM
    question : what the user should answer about the roles
    blank : axis -> labels whose scores are all missing
    blank_scores : the number of missing scores of such tasks
    """

    table: Table
    roles: Roles
    asked: Asked
    notes: list[str]
    question: str = ""
    blank: dict[str, list[str]] = field(default_factory=dict)
    blank_scores: int = 0
    failed: int = 0
    raw: str = ""
    typed: str = ""
    tasks: str = ""
    keys: dict[str, str] = field(default_factory=dict)
    types: dict[str, str] = field(default_factory=dict)
