"""Benchmarks: each prints a ratio measured in one run."""
