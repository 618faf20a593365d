"""Unit tests, mirroring lockgrid."""
