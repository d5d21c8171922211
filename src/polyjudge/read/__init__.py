"""Scores of any source become a panel (DESIGN, Reading)."""

from __future__ import annotations

from polyjudge.read.labels import labels_of, read_table, spelled_as
from polyjudge.read.panels import explain, read_panel
from polyjudge.read.work import Reading
from polyjudge.read.write import write_scores

__all__ = ["Reading", "explain", "labels_of", "read_panel", "read_table", "spelled_as", "write_scores"]
