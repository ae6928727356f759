#!/usr/bin/env bash
# Succeeds at the third attempt.
sleep 0.4
if ((DROVER_ATTEMPT < 3)); then
  echo "attempt $DROVER_ATTEMPT: no luck" >&2
  exit 1
fi
echo "attempt $DROVER_ATTEMPT: done"
