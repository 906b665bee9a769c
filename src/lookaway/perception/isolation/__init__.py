"""Runs networks whose dependencies cannot live with ours: each in a virtual environment and a process of its own."""
