"""Holds two runs, or two models, against each other."""
