"""Features and outcomes on disk, keyed by content."""
