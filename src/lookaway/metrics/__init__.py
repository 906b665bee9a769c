"""Measurements: pure arithmetic from features to outcomes."""
