"""What each metric can see: cards that are measured on the simulated world."""
