"""How each metric answers to each fault."""
