#!/usr/bin/env bash
# Never succeeds.
sleep 0.3
echo "this cannot work" >&2
exit 1
