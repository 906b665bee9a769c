"""Depth: estimated, or supplied in files."""
