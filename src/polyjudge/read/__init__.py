"""Scores of any source become a panel (DESIGN, Reading)."""

from __future__ import annotations

from polyjudge.read.panels import Reading, as_panel, explain, read_labels, read_panel, read_table

__all__ = ["Reading", "as_panel", "explain", "read_labels", "read_panel", "read_table"]
