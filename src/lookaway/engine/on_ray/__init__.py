"""Runs work on many cores and machines. The only package that imports Ray."""
