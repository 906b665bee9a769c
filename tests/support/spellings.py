"""The forms in which a secret may come back."""

from __future__ import annotations

import base64


def spellings(text: str) -> list[bytes]:
    """A text plain, escaped as in JSON and as in an address, in hex, and in base64 at each of its three places."""
    encoded = [base64.b64encode(bytes(before) + text.encode()).decode()[4:-4] for before in range(3)]
    escaped = "".join(f"\\u{ord(character):04x}" for character in text)
    percent = "".join(f"%{ord(character):02X}" for character in text)
    return [form.encode() for form in (text, escaped, percent, text.encode().hex(), *encoded)]
