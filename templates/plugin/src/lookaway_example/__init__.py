"""A metric for lookaway."""
