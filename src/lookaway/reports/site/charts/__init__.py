"""Charts as inline SVG, made when the site is built: no library, no script."""
