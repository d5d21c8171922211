"""Scores in, panels out: files, data frames, database tables, warehouses and eval logs."""

from polyjudge.second.read.scores import read_panel, read_probes

__all__ = ["read_panel", "read_probes"]
