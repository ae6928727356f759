#!/usr/bin/env bash
# Runs until it is cancelled; its child goes with it.
echo "working for ever"
sleep 3600 &
wait
