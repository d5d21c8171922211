"""From results to reports: which sentences, tables and charts are shown, and in which order."""
