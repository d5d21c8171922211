"""Calibrators: fit on a panel, then transform panels, apply to tables, save and load."""
