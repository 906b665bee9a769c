"""Running models, and the record of what was delivered to them."""
