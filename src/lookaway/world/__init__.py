"""The simulated world: known ground truth, injected memory faults."""
