"""Finds statistical mistakes in printed tables."""
