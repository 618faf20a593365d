"""One pin, many files: ``pins.toml``, where copies of a version stand, how they compare, and how they are rewritten."""
