"""Files that run in environments of their own, where this package is not installed; each offers `load(settings)`."""
