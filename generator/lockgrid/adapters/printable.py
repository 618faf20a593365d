"""Text of strangers, fit for a line."""


def printable(text: str, limit: int = 512) -> str:
    """Without control characters, and cut after ``limit`` characters."""
    return "".join(c if c.isprintable() else "?" for c in text[:limit])
