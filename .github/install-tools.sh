#!/usr/bin/env bash
# Install what locks/dev pins for a platform, every file by its hash, and lockgrid of this tree.
# $1: the platform, as envs/targets.toml names it.
set -euo pipefail
cd "$(dirname "$0")/.."

export PIP_DISABLE_PIP_VERSION_CHECK=1
python -m pip install --quiet --require-hashes --requirement "locks/dev/$1.txt"
python -m pip install --quiet --no-deps --no-build-isolation ./generator
