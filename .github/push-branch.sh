#!/usr/bin/env bash
# Push the commit that another job made, or remove the branch where that job had nothing to propose.
# $1: the folder with commit.bundle or nothing. Prints state=opened, updated, same, closed or none for $GITHUB_OUTPUT.
# BRANCH, BASE, and GH_TOKEN, which git is handed by gh and which is written nowhere.
set -euo pipefail
cd "$(dirname "$0")/.."

export GIT_CONFIG_COUNT=2
export GIT_CONFIG_KEY_0=credential.helper GIT_CONFIG_VALUE_0=
export GIT_CONFIG_KEY_1=credential.helper GIT_CONFIG_VALUE_1='!gh auth git-credential'
export GIT_AUTHOR_NAME=lockgrid GIT_AUTHOR_EMAIL=lockgrid@localhost
export GIT_COMMITTER_NAME=lockgrid GIT_COMMITTER_EMAIL=lockgrid@localhost

place=(--branch "$BRANCH" --base "$BASE" --push origin)
if [ -e "$1/commit.bundle" ]; then
  git fetch --quiet "$1/commit.bundle" "refs/heads/$BRANCH"
  choice=(--from "$(git rev-parse FETCH_HEAD)")
elif [ -e "$1/nothing" ]; then
  choice=(--close)
else
  echo "error: $1 holds neither a commit nor word that there is none" >&2
  exit 1
fi
outcome=$(python -m lockgrid publish "${place[@]}" "${choice[@]}" --json)
echo "$outcome" >&2
echo "state=$(jq --raw-output .state <<<"$outcome")"
