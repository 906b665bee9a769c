"""How single frames look: quality, lightness and colour."""
