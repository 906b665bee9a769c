"""A run in other formats: tables for papers, rows, and the layouts of MBench and MIND."""
