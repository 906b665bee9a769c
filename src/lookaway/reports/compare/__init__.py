"""Two runs, clip by clip."""
