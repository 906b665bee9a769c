"""From a case to a model's own controls, and from its outputs to a dataset. No model is run here."""
