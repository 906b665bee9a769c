"""Measures whether video world models remember what the camera looked away from."""
