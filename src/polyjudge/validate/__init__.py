"""polyjudge tested against known answers."""
