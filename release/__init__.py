"""What a release is checked with. The release workflow runs these scripts, and `make release-check` runs them locally."""
