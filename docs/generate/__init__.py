"""Pages and tables that the site makes from the package."""
