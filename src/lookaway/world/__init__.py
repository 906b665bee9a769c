"""The simulated world: known truth, injected memory faults."""
