"""Files: video, poses, arrays, JSON. The only room that decodes video."""
