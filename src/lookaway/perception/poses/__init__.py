"""Camera poses: supplied in files, tracked from the frames, or given by a network."""
