"""polyjudge tested against known answers: panels with planted truth through the public analyses."""
