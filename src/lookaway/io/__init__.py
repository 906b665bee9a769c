"""Files: video, poses, arrays, JSON. The only package that decodes video."""
