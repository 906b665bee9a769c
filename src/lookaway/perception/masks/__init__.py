"""Where things and people are: boxes and mask tracks."""
