"""What every test may rely on."""

from __future__ import annotations

import signal

# A shell that starts the tests in the background may have them ignore Ctrl-C, and so would every command they start.
signal.signal(signal.SIGINT, signal.default_int_handler)
