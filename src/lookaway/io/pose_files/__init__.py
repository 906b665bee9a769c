"""Camera poses as other tools write them: one module per layout, one set of checks for all."""
