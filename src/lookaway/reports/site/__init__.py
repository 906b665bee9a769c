"""A run, or several, as pages that open without a server."""
