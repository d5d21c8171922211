"""What a person looks at: terminal, JSON, charts and the page. Results in, nothing computed here."""
