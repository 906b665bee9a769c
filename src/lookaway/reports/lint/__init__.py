"""Finds mistakes of statistics in tables that somebody printed."""
