"""What every room stands on: errors, names and numbers as text, files written whole, limits, progress, signals."""
