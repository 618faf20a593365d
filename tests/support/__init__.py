"""Test support: tiny distributions, a loopback index, scenarios, a sandbox for the command line.

`wheels` makes distributions as bytes, `index` serves them, `scenario` reads both from TOML, and
`sandbox` runs lockgrid (or uv) against them with a clean environment. Nothing here keeps global
state, and nothing here imports lockgrid.
"""
