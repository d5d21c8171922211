"""From results to screens, pages, Markdown, JSON and JUnit."""
