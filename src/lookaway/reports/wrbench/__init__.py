"""Tables, slices and contrasts of WRBench, and people's verdicts on pairs of its videos."""
