"""The only code that touches the world: uv, the index, wheels by range, files."""
