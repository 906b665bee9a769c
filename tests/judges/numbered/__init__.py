"""A prompt of another package."""
