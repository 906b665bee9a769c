"""What a release is checked with: by the release workflow, and by `make release-check`."""
