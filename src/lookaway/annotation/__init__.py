"""The web app for people's verdicts."""
