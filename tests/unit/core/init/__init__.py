"""Tests of ``lockgrid.core.init``."""
