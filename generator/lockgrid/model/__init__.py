"""Frozen values, no behaviour beyond naming themselves. Imports nothing of lockgrid but ``errors``."""
