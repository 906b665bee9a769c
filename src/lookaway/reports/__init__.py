"""Tables, pages and exports. The only room that rounds."""
