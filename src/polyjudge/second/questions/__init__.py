"""One folder per question: Panel in, Result out, and how the Result is said."""
