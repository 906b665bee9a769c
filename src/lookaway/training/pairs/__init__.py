"""Preference pairs from the outcomes of runs: which of two videos of one case remembers better, and by how much."""
