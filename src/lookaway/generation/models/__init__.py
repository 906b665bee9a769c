"""One file for each model, with its facts as data and one small class."""
