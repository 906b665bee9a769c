"""A run in the formats of others: paper tables, rows, and the layouts of MBench and MIND."""
