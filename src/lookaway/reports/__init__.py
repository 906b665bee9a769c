"""Tables, pages and exports. The only package that rounds."""
