"""Frames in, features out: one file per extractor."""
