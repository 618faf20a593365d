"""Reproducible environment lockfiles for a grid of platforms and Pythons, each cell proven."""

__version__ = "0.1.0"
