#!/usr/bin/env bash
# Works through {"steps": N}, reports progress, and leaves a result.
set -euo pipefail
payload=$(cat)
steps=$(grep -oE '"steps":[0-9]+' <<<"$payload" | cut -d: -f2)
for ((step = 1; step <= steps; step++)); do
  sleep 0.25
  drover progress $((100 * step / steps)) "step $step of $steps"
done
echo "{\"steps_done\": $steps}"
