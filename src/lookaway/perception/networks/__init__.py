"""Loaded networks and what brings frames to them; extractors decide which frames and what is kept."""
