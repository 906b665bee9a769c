"""One folder per benchmark: its files, its protocol, its table."""
