"""How alike frames, regions and videos are."""
