"""A first ``envs/`` from what a project has: pyproject.toml and requirements files in, drafts and notes out."""
