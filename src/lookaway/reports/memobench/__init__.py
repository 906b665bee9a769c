"""Analyses of runs of MemoBench, from their stored rows."""
