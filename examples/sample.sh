#!/usr/bin/env bash
# Starts `drover up` on a fresh store, gives it a few tasks and shows their fate: a chain with dependencies, a task that
# fails twice and then succeeds, one that ends as a dead letter, one cancelled while running. Then it stays up to play with;
# with --once it ends, with 0 if every fate is the expected one.
#
# usage: examples/sample.sh [--once]      DROVER_BIN names the program (default build/release/drover)
set -euo pipefail

once=false
case ${1:-} in
  "") ;;
  --once) once=true ;;
  *)
    echo "usage: examples/sample.sh [--once]" >&2
    exit 2
    ;;
esac

here=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
bin=$(readlink -f "${DROVER_BIN:-$here/../build/release/drover}")
cd "$here/sample"
[[ -x $bin ]] || { echo "sample: no program $bin; run ./dev build, or set DROVER_BIN" >&2; exit 1; }

folder=$(mktemp -d "${TMPDIR:-/tmp}/drover-sample.XXXXXX")
up=
# Trust, run outputs and the store are the sample's own; the tasks call `drover` by its name.
export XDG_STATE_HOME=$folder/state DROVER_STORE=sqlite:$folder/drover.db PATH=${bin%/*}:$PATH
# Any free port, so that a server which is there already does not matter.
export DROVER_LISTEN=127.0.0.1:0

end() {
  if [[ -n $up ]] && kill -0 "$up" 2>/dev/null; then
    kill -TERM "$up" 2>/dev/null || true
    wait "$up" || true
  fi
  rm -rf "$folder"
}
trap end EXIT
trap 'exit 130' INT TERM

declare -A expected=([fetch]=completed [lint]=completed [test]=completed [package]=completed
                     [flaky]=completed [doomed]=failed [endless]=cancelled)
order=(fetch lint test package flaky doomed endless)
declare -A id state attempts note shown

# What the store says of the sample's tasks, into the arrays above.
read_tasks() {
  local task type now tries tries_max why _
  while IFS=$'\t' read -r task type _ _ now _ tries tries_max _ why; do
    id[$type]=$task state[$type]=$now attempts[$type]=$tries/$tries_max note[$type]=$why
  done < <("$bin" list --tag sample)
}

paint() {
  local code
  case $1 in
    running) code=36 ;;
    completed) code=32 ;;
    failed) code=31 ;;
    cancelled) code=33 ;;
    *) code=2 ;;
  esac
  if [[ -n ${NO_COLOR:-} ]]; then printf '%-10s' "$1"; else printf '\e[%sm%-10s\e[0m' "$code" "$1"; fi
}

lines_drawn=0
draw_table() {
  if ((lines_drawn > 0)); then printf '\e[%dA' "$lines_drawn"; fi
  local type width=$(($(tput cols 2>/dev/null || echo 80) - 32))
  printf '\e[K  %-9s  %-10s  %-3s  %s\n' TASK STATE TRY NOTE
  for type in "${order[@]}"; do
    printf '\e[K  %-9s  %s  %-3s  %s\n' "$type" "$(paint "${state[$type]}")" "${attempts[$type]}" \
      "${note[$type]:0:$((width > 0 ? width : 1))}"
  done
  lines_drawn=$((${#order[@]} + 1))
}

print_changes() {
  local type line
  for type in "${order[@]}"; do
    line="${state[$type]} ${attempts[$type]}"
    if [[ ${shown[$type]:-} != "$line" ]]; then
      printf '%-9s %-10s %s  %s\n' "$type" "${state[$type]}" "${attempts[$type]}" "${note[$type]}"
      shown[$type]=$line
    fi
  done
}

show() { if [[ -t 1 ]]; then draw_table; else print_changes; fi; }

all_ended() {
  local type
  for type in "${order[@]}"; do
    case ${state[$type]} in completed | failed | cancelled) ;; *) return 1 ;; esac
  done
}

deadline=$((SECONDS + 60))
fail_unless_up() {
  local why=
  if ! kill -0 "$up" 2>/dev/null; then why="drover up has ended"; fi
  if ((SECONDS > deadline)); then why="not everything ended within a minute"; fi
  if [[ -z $why ]]; then return; fi
  echo "sample: $why; the log of drover up:" >&2
  cat "$folder/up.log" >&2
  exit 1
}

# --- start ------------------------------------------------------------------------------------------------------------

"$bin" trust >/dev/null 2>&1
"$bin" up >"$folder/up.log" 2>&1 &
up=$!
# The policy is in force once the workers are there.
until (($("$bin" worker list 2>/dev/null | wc -l) == ${#order[@]})); do
  fail_unless_up
  sleep 0.05
done
"$bin" enqueue --batch tasks.ndjson >/dev/null
echo "drover up is running (pid $up) on $DROVER_STORE"
echo "what it was given: examples/sample/tasks.ndjson; what runs it: examples/sample/drover.yaml"
echo

# --- watch ------------------------------------------------------------------------------------------------------------

cancelled=false
while true; do
  read_tasks
  show
  if all_ended; then break; fi
  # Cancelled while it runs, and when the rest is well under way.
  if ! $cancelled && [[ ${state[endless]} == running && ${state[test]} == running ]]; then
    "$bin" cancel "${id[endless]}" --reason "enough of that" >/dev/null 2>&1
    cancelled=true
  fi
  fail_unless_up
  sleep 0.15
done

# --- sum up -----------------------------------------------------------------------------------------------------------

wrong=0
for type in "${order[@]}"; do
  if [[ ${state[$type]} != "${expected[$type]}" ]]; then
    echo "sample: $type ended ${state[$type]}, expected ${expected[$type]}" >&2
    wrong=1
  fi
done
[[ ${attempts[flaky]} == 3/3 ]] || { echo "sample: flaky took ${attempts[flaky]}, expected 3/3" >&2; wrong=1; }

echo
if ((wrong == 0)); then
  echo "as expected: the chain completed in order, flaky at its third attempt, doomed is a dead letter, endless was cancelled"
fi
if $once; then exit "$wrong"; fi

trap 'exit 0' INT TERM

# "serving on URL; your token is in FILE"
url=$(sed -n 's/.*serving on \([^;]*\);.*/\1/p' "$folder/up.log")
token=$(sed -n 's/.*your token is in //p' "$folder/up.log")

cat <<END

It stays up until Ctrl-C. In another terminal:

  export DROVER_STORE=$DROVER_STORE PATH=${bin%/*}:\$PATH
  drover list                       drover show ${id[flaky]}
  drover run fetch --payload '{"steps": 3}'
  drover retry ${id[doomed]}        drover logs ${id[doomed]}
  curl -H "Authorization: Bearer \$(cat $token)" $url/v1/stats

What happens next:
END
"$bin" events -f || true
