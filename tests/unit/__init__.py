"""Unit tests of lockgrid: pure, offline, one module a module of the package."""
