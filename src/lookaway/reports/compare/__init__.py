"""Compares two runs clip by clip."""
