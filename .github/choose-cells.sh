#!/usr/bin/env bash
# Print cells=JSON and count=N for $GITHUB_OUTPUT: the proven cells as a matrix, each with the runner of its platform.
# ONLY_CHANGED=true: those whose pins the newest commit changes, unless it changes what runs them.
set -euo pipefail
cd "$(dirname "$0")/.."

# A platform of envs/targets.toml that has none here is an error, and not left out.
runners='{
  "linux-x86_64": "ubuntu-24.04",
  "linux-aarch64": "ubuntu-24.04-arm",
  "macos-arm64": "macos-15",
  "windows-x86_64": "windows-2025"
}'
options=()
if [ "${ONLY_CHANGED:-}" = true ] && git diff --quiet HEAD^1 HEAD -- tests/flows sessions noxfile.py .github; then
  options=(--changed-since HEAD^1)
fi
cells=$(python -m lockgrid matrix --json "${options[@]}" | jq --compact-output --argjson runners "$runners" '
  .include |= map(.runner = ($runners[.platform] // error("no runner is known for \(.platform)")))')
count=$(jq '.include | length' <<<"$cells")
if [ "$count" -gt 256 ]; then
  echo "error: $count cells, and GitHub takes 256 jobs of a matrix: leave some to a schedule of their own" >&2
  exit 1
fi
echo "$count cells" >&2
echo "cells=$cells"
echo "count=$count"
