#!/usr/bin/env bash
# Installs the agent CLIs of package.json, as package-lock.json pins them, into the user's cache, never globally, and prints the
# folder of their programs. Needs npm; the Node that the CLIs need is one of the packages.
set -euo pipefail
here=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
version=$(sha256sum "$here/package-lock.json" | cut -c 1-12)
folder=${XDG_CACHE_HOME:-$HOME/.cache}/drover/agents/$version

if [[ ! -e $folder/complete ]]; then
  mkdir -p "$folder"
  cp "$here"/package*.json "$folder/"
  printf 'installing the agent CLIs into %s (1.6 GB)\n' "$folder" >&2
  # Not `npm ci`: it insists on the packages of every platform, and not every registry has them.
  npm install --prefix "$folder" --no-audit --no-fund --loglevel error >&2
  touch "$folder/complete"
fi
printf '%s\n' "$folder/node_modules/.bin"
