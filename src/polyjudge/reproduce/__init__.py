"""The paper, number by number."""
