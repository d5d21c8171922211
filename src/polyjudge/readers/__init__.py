"""Scores in, panels out: files, data frames, database tables and eval logs."""

from polyjudge.readers.tables import read_panel

__all__ = ["read_panel"]
