"""One package per benchmark: its files, its protocol, its table."""
