#include "cli/help_texts.h"

#include <algorithm>
#include <array>

#include "base/check.h"

namespace drover::cli {
namespace {

constexpr std::array kTexts = std::to_array<VerbText>({
    {"", "A durable task queue for fleets of AI agents.",
     R"(Examples:
  drover enqueue greet --payload '{"name": "Ada"}'
  drover work --type greet --until-empty -- cat
  drover list

Exit codes:
  0 ok  1 error  2 usage  4 not authorised  5 not found  6 conflict  7 store unreachable
  10 task failed  11 task cancelled  124 wait timed out

Durations are written 500ms, 30s, 5m, 2h, 7d or 1h30m. Data goes to stdout, messages to stderr.
`drover help COMMAND` tells more about one.)"},
    {"up", "Run everything in one process: upkeep, server, and a worker for each runner profile of drover.yaml",
     R"(Applies the drover.yaml of this folder if it has changed, then runs one worker for each profile under local.runners,
and `drover serve`, until SIGINT or SIGTERM. It refuses a drover.yaml that is not trusted (exit 4), and changes nothing
unless it can start. A first signal lets running tasks finish for 30s, a second one stops them. The token that it makes for
you, once for each store, has the role admin; its file is named at the start.

Examples:
  drover trust && drover up
  drover up --listen 127.0.0.1:8080)"},
    {"serve", "Put the queue on the network: REST for programs, and for workers elsewhere",
     R"(Runs until SIGINT or SIGTERM, and does the store's upkeep. Everybody shows a token: `drover token create` makes one, on
this machine. Any verb and any worker uses the server with --store http://HOST:PORT and DROVER_TOKEN. An address that other
machines reach needs TLS, or --insecure.

Examples:
  drover serve
  drover serve --listen 0.0.0.0:7711 --host queue.example.org --tls-cert queue.pem --tls-key queue.key
  DROVER_TOKEN=$(drover token create --role operator) drover --store http://127.0.0.1:7711 list)"},
    {"work", "Claim tasks and run them",
     R"(What stands after -- is run for every task: payload (or prompt) on stdin; the result is the last line of stdout if it is
JSON, else all of it. Exit code 0 is success, 65 invalid, 77 not authorised, 75 try later, anything else an error.
Without it, the runner profiles of a trusted drover.yaml say what runs.

Examples:
  drover work --type greet -- ./greet.sh
  drover work --queue eng --concurrency 4 --until-empty -- claude -p)"},
    {"enqueue", "Store a task, or a batch of them",
     R"(Prints the id of each task. A batch line is a task object; "ref": "a" names it for "depends_on": ["@a"] in other lines.

Examples:
  drover enqueue review --prompt 'Review the last commit' --priority high
  drover enqueue deploy --payload @deploy.json --after 01920f5e-7a3c-7def-8123-456789abcdef
  drover enqueue deploy --lock production --dedupe keep_latest --dedupe-key site
  drover enqueue sync --delay 10m --retry fixed:30s --max-attempts 5 --request-id nightly-42
  printf '%s\n' '{"type":"build","ref":"b"}' '{"type":"test","depends_on":["@b"]}' | drover enqueue --batch -)"},
    {"run", "Store a task, wait for its end and print its result",
     R"(Exits with the task's fate: 0 completed, 10 failed, 11 cancelled, 124 not ended within --wait-timeout, which leaves the
task as it is. A result that is a string is printed as its text. After a second it says on stderr what it waits for.

Examples:
  drover run summarise --payload @notes.json
  drover run build --timeout 5m --json | jq .result
  drover run build --wait-timeout 10m)"},
    {"list", "List tasks, newest first",
     R"(Piped, it prints tab-separated lines: id, type, queue, owner, state, priority, attempts, max_attempts, created_at, note.

Examples:
  drover list --state running,stalled
  drover list --tag nightly --json | jq '.[].id'
  drover list --class timeout)"},
    {"show", "Show one task",
     R"(With --runs and piped: run, generation, outcome, started_at, ended_at, milliseconds it took, exit code, worker, error.

Examples:
  drover show 01920f5e-7a3c-7def-8123-456789abcdef
  drover show 01920f5e-7a3c-7def-8123-456789abcdef --json | jq .error)"},
    {"wait", "Wait for a task's end",
     R"(Prints its last state and exits with its fate: 0 completed, 10 failed, 11 cancelled, 124 not ended in time. After a
second it says on stderr what it waits for.

Examples:
  drover wait 01920f5e-7a3c-7def-8123-456789abcdef --timeout 10m)"},
    {"logs", "Print what a task's runs wrote",
     R"(What runs wrote goes to stdout, what Drover says of them to stderr.

Examples:
  drover logs -f 01920f5e-7a3c-7def-8123-456789abcdef)"},
    {"explain", "Say why a task is not running, and what will release it",
     R"(Piped, it prints one tab-separated line: reason, gate, when it will be released, sentence.

Examples:
  drover explain 01920f5e-7a3c-7def-8123-456789abcdef
  drover explain 01920f5e-7a3c-7def-8123-456789abcdef --json | jq .gate)"},
    {"cancel", "Cancel a task and what depends on it",
     R"(A running task is cancelled when its processes are dead: TERM, ten seconds of grace, KILL.

Examples:
  drover cancel 01920f5e-7a3c-7def-8123-456789abcdef --dry-run
  drover cancel 01920f5e-7a3c-7def-8123-456789abcdef --reason 'wrong branch')"},
    {"edit", "Change a task that has not started",
     R"(Its priority, its time, its payload and its tags may change while it waits; what is not given stays. With another
priority, or when a new time makes it ready, it goes to the end of its line. A task that runs or has ended is refused.

Examples:
  drover edit 01920f5e-7a3c-7def-8123-456789abcdef --priority critical
  drover edit 01920f5e-7a3c-7def-8123-456789abcdef --delay 0s
  drover edit 01920f5e-7a3c-7def-8123-456789abcdef --payload @other.json --tag urgent --tag billing)"},
    {"retry", "Run a failed or cancelled task again",
     R"(Its counters start again from zero; its earlier runs stay on record.

Examples:
  drover retry 01920f5e-7a3c-7def-8123-456789abcdef)"},
    {"dlq", "Dead letters: see why tasks failed, and decide what becomes of them",
     R"(A failed task waits for a verdict: retry (perhaps with another payload), wait, escalate or delete. Failures are told
apart by a fingerprint: the class, and the message without its numbers, ids, paths and quoted parts.

Examples:
  drover dlq list
  drover dlq show 3f2a9c41d07b
  drover dlq retry --fingerprint 3f2a9c41d07b --reason 'the provider is back')"},
    {"dlq list", "List the kinds of failures, those with the most tasks first",
     R"(Piped, it prints tab-separated lines: fingerprint, class, count, escalated, first_at, last_at, example, types, error;
with --tasks: id, type, queue, owner, finished_at, class, fingerprint, to, error.

Examples:
  drover dlq list --type review
  drover dlq list --tasks --class timeout
  drover dlq list --json | jq '.[] | {fingerprint, count}')"},
    {"dlq show", "Show a failed task with all its runs, or one kind of failure with its newest tasks",
     R"(Examples:
  drover dlq show 01920f5e-7a3c-7def-8123-456789abcdef
  drover dlq show 3f2a9c41d07b)"},
    {"dlq retry", "Run failed tasks again, perhaps with another payload",
     R"(By filter it counts first and asks; in a script, say --yes. One task after the other: what is done does not match any
more, so that the same command goes on where an interrupted one (exit 130) stopped.

Examples:
  drover dlq retry 01920f5e-7a3c-7def-8123-456789abcdef --payload @fixed.json
  drover dlq retry --fingerprint 3f2a9c41d07b --patch '{"model": "large"}' --reason 'needs more context'
  drover dlq retry --all --dry-run)"},
    {"dlq delete", "Delete failed tasks with everything that belongs to them",
     R"(Their events stay, and say who deleted them and why. By an id it deletes any finished task.

Examples:
  drover dlq delete --type demo --yes --reason 'a test')"},
    {"dlq wait", "Run failed tasks again at a later time",
     R"(As `dlq retry`, but not before that time.

Examples:
  drover dlq wait --class quota_exhausted --for 6h
  drover dlq wait 01920f5e-7a3c-7def-8123-456789abcdef --until 2026-12-01T06:00:00Z)"},
    {"dlq escalate", "Hand failed tasks to somebody",
     R"(They stay failed and wait for a verdict. By filter it takes only those that nobody has.

Examples:
  drover dlq escalate --fingerprint 3f2a9c41d07b --to ada --reason 'the schema changed')"},
    {"progress", "Report progress from inside a task",
     R"(Speaks to the task's own door, DROVER_URL.

Examples:
  drover progress 40 'running the tests')"},
    {"events", "Print what happened, oldest first",
     R"(Piped, it prints tab-separated lines: seq, time, name, task id, type, queue, owner, state, run, data (JSON).

Examples:
  drover events -f
  drover events --after 1200 --json)"},
    {"queue", "See, pause and resume queues",
     R"(Examples:
  drover queue list
  drover queue pause eng --reason 'database is moving'
  drover queue resume eng)"},
    {"queue list", "List the queues, what waits in them and what holds them back",
     R"(Piped, it prints tab-separated lines: name; open, paused or full; waiting; running; scheduled; blocked; permits; rate; why.

Examples:
  drover queue list --json)"},
    {"queue pause", "Start nothing more from a queue",
     R"(What runs goes on. The same as `drover gate close queue:QUEUE`.

Examples:
  drover queue pause eng --reason 'database is moving'
  drover queue pause eng --for 30m)"},
    {"queue resume", "Start tasks of a paused queue again",
     R"(The same as `drover gate open queue:QUEUE`.

Examples:
  drover queue resume eng)"},
    {"gate", "See, close, open and limit what may start",
     R"(A gate is asked before a task may start: all, queue:Q, type:T, owner:O, provider:P, lock:K. Nothing that runs is stopped.

Examples:
  drover gate list
  drover gate close all --reason 'provider is down'
  drover gate limit type:review 2)"},
    {"gate list", "List the gates that hold something back or could",
     R"(Piped, it prints tab-separated lines: name; open, closed, full or probing; closed until; permits; in use; rate; lanes that
wait there; why.

Examples:
  drover gate list --json)"},
    {"gate open", "Drop everything that holds a gate closed, but the policy's limits",
     R"(Pauses, limits by hand, a breaker and a provider's pause all go.

Examples:
  drover gate open all
  drover gate open type:review --reason 'the agent is fixed')"},
    {"gate close", "Let nothing more start that passes a gate",
     R"(Until it is opened, or for a time. What runs goes on.

Examples:
  drover gate close all --reason 'provider is down'
  drover gate close provider:anthropic --for 15m)"},
    {"gate limit", "Limit how many tasks of a gate run at once",
     R"(Counts beside the limit of the policy: the smaller one holds.

Examples:
  drover gate limit type:review 2 --reason 'it eats all memory'
  drover gate limit type:review none)"},
    {"stats", "Show how the queues are doing: counts, rates, durations, workers, alerts",
     R"(Rates and durations are of the last minute, or of the latest 20000 events if those took less.

Piped, it prints a tab-separated line per queue: name, waiting, since when the first waits, running, scheduled, blocked, completed, failed,
cancelled, workers, free slots, then of the window: enqueued, started, completed, failed, retried, then in milliseconds: wait p50
and p95, run p50 and p95.

Examples:
  drover stats
  drover stats --json | jq .rates)"},
    {"top", "Watch the queues live: rates, running tasks, workers, gates, alerts",
     R"(Keys: tab panel, arrows or j k line, s sort, / filter, p pause or resume a queue, c cancel a task, enter or l its log, r retry,
? help, q quit.

Examples:
  drover top
  drover top --once)"},
    {"doctor", "Look for what is wrong, and say how to fix it",
     R"(Each line is ok, warn or fail, what was looked at, what was found, and what to type. Exit 1 if something fails.

Piped, it prints tab-separated lines: level, check, subject, detail, fix.

Examples:
  drover doctor
  drover doctor --json)"},
    {"alerts", "List what somebody should look at",
     R"(As the latest look at the fleet's health found it, at most 15 seconds ago if a worker or `drover up` runs.

Piped, it prints tab-separated lines: severity, kind, subject, since, detail, fix.

Examples:
  drover alerts)"},
    {"worker", "See the workers, and send them home",
     R"(Examples:
  drover worker list
  drover worker drain --all --reason upgrade --wait)"},
    {"worker list", "List the workers, what they serve and what they run",
     R"(STATE is working, draining, or silent: not heard of for 30 seconds.

Piped, it prints tab-separated lines: id, version, running, capacity, registered_at, last_beat_at, working, draining or silent,
who told it to drain and why, what it serves.

Examples:
  drover worker list --json)"},
    {"worker drain", "Tell a worker to take no more work, finish what it has and go",
     R"(The worker learns of it with its next heartbeat, a few seconds later. What runs may take as long as it needs; then the
worker exits with 0. A signal to the worker itself still ends it within its drain time.

Examples:
  drover worker drain box:4711:019a8d5e-6f7a-7b3c-9d2e-1f0a2b3c4d5e
  drover worker drain --all --reason upgrade --wait)"},
    {"token", "Make, see and revoke the tokens by which a server knows its callers",
     R"(A token has a role: viewer, producer, worker, operator or admin. Over a server these commands need the
token of an admin; the first one is made on the store itself.

Examples:
  drover token create --role producer --owner team-a
  drover token list)"},
    {"token create", "Make a token and print it, once",
     R"(The token alone goes to stdout. Only its SHA-256 is stored: if you lose a token, revoke it and create another.

Examples:
  drover token create --role producer --owner team-a --note 'nightly build'
  (umask 077; drover token create --role worker --queue eng --expires 30d > worker.token))"},
    {"token list", "List the tokens, newest first",
     R"(Tokens that were revoked or have expired are listed for 30 days more.

Piped, it prints tab-separated lines: id, role, owner, queues, state (active, expired, revoked), created_at, created_by, expires_at,
last_used_at, revoked_at, revoked_by, note.

Examples:
  drover token list --json)"},
    {"token revoke", "Make a token worthless",
     R"(Servers learn of it within seconds. It takes the id, as `token list` shows it, or the whole token.

Examples:
  drover token revoke 4fQ1mZ8x)"},
    {"audit", "The audit log of a server",
     R"(Examples:
  drover audit verify /var/log/drover/audit.log)"},
    {"audit verify", "Check that an audit log is as it was written",
     R"(Names the first line that was changed, taken out or put in, and exits with 1. Otherwise it prints, tab-separated, the number of
records and the hash of the last one: lines that were cut from the end leave no trace but that another hash was noted before.

Examples:
  drover audit verify /var/log/drover/audit.log
  drover audit verify audit.log --json)"},
    {"config", "The policy that every process of the fleet obeys",
     R"(Examples:
  drover config show
  drover config apply drover.yaml)"},
    {"config apply", "Store everything but `local` of a drover.yaml as the policy",
     R"(Says what changes: + what comes, - what goes, ~ what becomes something else. Checks everything first; what is wrong is named
with its line.

Examples:
  drover config apply drover.yaml --dry-run
  drover config apply drover.yaml)"},
    {"config show", "Show the policy in force",
     R"(Examples:
  drover config show > policy.yaml && drover config apply policy.yaml)"},
    {"type", "See what the policy says of the types of tasks",
     R"(What is left out in drover.yaml has its default here.

Examples:
  drover type list
  drover type show review)"},
    {"type list", "List the types that the policy names",
     R"(Piped, it prints tab-separated columns: type, queue, priority, attempts, retry, timeout, breaker, contract.

Examples:
  drover type list
  drover type list -o name)"},
    {"type show", "Show one type: its defaults, its retries, its breaker and its contract",
     R"(The fields are those of types.TYPE in drover.yaml. A type that the policy does not name has the defaults, unless types are closed.

Examples:
  drover type show review
  drover type show review --json | jq .payload_schema)"},
    {"trust", "Allow `drover up` and `drover work` to run what a drover.yaml says",
     R"(Records the file's path and SHA-256 in your state folder. A changed file has to be trusted again.

Examples:
  drover trust
  drover trust ../other/drover.yaml)"},
    {"fsck", "Prove that the store's records and indexes agree",
     R"(Piped, it prints tab-separated lines: code, repaired (yes or no), detail. On Redis nobody else is answered while it looks:
with many tasks, stop the workers first.

Exits with 1 if something is wrong and was not repaired.

Examples:
  drover fsck
  drover fsck --repair)"},
    {"store", "See whether the store lost anything, and go on after a loss",
     R"(Examples:
  drover store show)"},
    {"store show", "Show the store's epochs, and what is gone that was acknowledged",
     R"(What was acknowledged is known from this machine's side: see `drover.db-mark`, or `marks/` in your state
folder for Redis. Exits with 1 if something is gone.

Examples:
  drover store show)"},
    {"store accept-regression", "Accept that acknowledged work was lost: claims go on",
     R"(Workers of a store that went backwards claim nothing until this was said. Begins a new epoch.

Examples:
  drover store accept-regression)"},
    {"export", "Write everything that the store holds as lines of JSON",
     R"(Policy, gates, tasks with their runs and output, events; oldest first. A file gets its name when it is whole.
For an exact copy of a busy store stop the work first: `drover gate close all`.

Examples:
  drover export backup.ndjson
  drover export | gzip > backup.ndjson.gz
  drover export --loki .loki/queue)"},
    {"import", "Put a dump into an empty store, of the same kind or another",
     R"(What ran when it was exported is taken back, as after a lost worker. Until it has finished the gate `all` is closed.

Examples:
  drover --store redis://localhost import backup.ndjson
  zcat backup.ndjson.gz | drover import -
  drover import --loki .loki/queue)"},
    {"completion", "Print a completion script for your shell",
     R"(Examples:
  source <(drover completion bash)
  drover completion zsh > "${fpath[1]}/_drover"
  drover completion fish > ~/.config/fish/completions/drover.fish)"},
    {"complete", "Print names that the store knows, for completion",
     R"(The completion scripts ask it. Of tasks, types, owners and tags those of the newest 200 tasks. A store that cannot be
opened has no names.

Examples:
  drover complete queue)"},
    {"help", "Explain a command", R"(Examples:
  drover help enqueue
  drover help enqueue --format man | man -l -)"},
});

}  // namespace

const VerbText& verb_text(std::string_view name) {
  const auto* const found = std::ranges::find(kTexts, name, &VerbText::name);
  CHECK_MSG(found != kTexts.end(), name);
  return *found;
}

}  // namespace drover::cli
