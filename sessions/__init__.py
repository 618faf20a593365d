"""What the noxfile's sessions do: find a cell's interpreter, build its venv, check it, run its flow.

Runs under nox's own Python, which holds nox, uv and packaging and not lockgrid.
"""
