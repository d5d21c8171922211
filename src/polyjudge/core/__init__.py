"""What everything else stands on: the panel, columns, labels, errors, files, results."""
