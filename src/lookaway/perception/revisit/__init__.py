"""What changed in a view between the first visit and the return."""
