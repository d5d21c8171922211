"""Panels: the labelled array of scores, its labels, its errors, safe files."""
