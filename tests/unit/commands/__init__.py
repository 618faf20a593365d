"""Tests of lockgrid.commands."""
