"""Rendering: one module an output format, each a function from values to text."""
