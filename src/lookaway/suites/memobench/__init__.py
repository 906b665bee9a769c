"""MemoBench: whether what left the view comes back as it was, phase by phase."""
