#!/usr/bin/env bash
# Print cells=JSON and count=N for $GITHUB_OUTPUT: the proven cells as a matrix.
# ONLY_CHANGED=true: those that the newest commit changes. What runs them touches all; what dev tests, those of dev.
set -euo pipefail
cd "$(dirname "$0")/.."

all=() dev=(dev)
if [ "${ONLY_CHANGED:-}" = true ]; then
  all=(--changed-since "HEAD^1" --all-if noxfile.py --all-if sessions --all-if .github)
  dev+=(--changed-since "HEAD^1" --all-if generator --all-if tests)
fi
cells=$({ python -m lockgrid matrix --json "${all[@]}" && python -m lockgrid matrix --json "${dev[@]}"; } |
  jq --slurp --compact-output '{include: (map(.include) | add | unique)}')
count=$(jq '.include | length' <<<"$cells")
if [ "$count" -gt 256 ]; then
  echo "error: $count cells, and GitHub takes 256 jobs of a matrix: name environments in .github/choose-cells.sh" >&2
  exit 1
fi
echo "$count cells" >&2
echo "cells=$cells"
echo "count=$count"
