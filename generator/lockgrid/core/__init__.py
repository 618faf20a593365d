"""Pure functions on values: no file, process, clock or network is touched below this package."""
