"""From values to estimates: pure arithmetic."""
