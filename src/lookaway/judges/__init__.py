"""Vision-language models that answer typed questions."""
