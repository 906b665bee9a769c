"""Work on many cores and machines. The only place that knows Ray."""
