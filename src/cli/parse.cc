#include "cli/parse.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <functional>
#include <limits>
#include <memory>
#include <utility>

#include "base/text.h"
#include "cli/help_texts.h"
#include "cli/read_value.h"
#include "worker/lease_keeper.h"

namespace drover::cli {
namespace {

constexpr std::string_view kCommonGroup = "Common options";

template <class T>
using Reader = std::function<Result<T>(std::string_view)>;

// A whole number within the bounds.
Reader<int> integer_between(Bounds bounds) {
  return [=](std::string_view text) -> Result<int> {
    const auto value = read_integer(text, bounds);
    if (!value) return std::unexpected(value.error());
    return static_cast<int>(*value);
  };
}

// ---- defining options

// An option with one value, which `read` turns into *target. `value` is how help names it.
template <class T, class Target, class Read>
CLI::Option* add_value(CLI::App& app, const std::string& names, const std::string& value, Target* target, Read read,
                       const std::string& help) {
  const auto take = [=](const CLI::results_t& results) {
    Result<T> read_value = read(results.back());
    if (!read_value) throw CLI::ValidationError(names.substr(names.rfind(',') + 1), read_value.error().message);
    *target = *std::move(read_value);
    return true;
  };
  return app.add_option(names, take, help)->type_name(value)->expected(1);
}

// An option that may be given several times; each time it takes one value.
template <class T, class Target, class Read>
CLI::Option* add_list(CLI::App& app, const std::string& names, const std::string& value, std::vector<Target>* target,
                      Read read, const std::string& help) {
  const auto take = [=](const CLI::results_t& results) {
    for (const std::string& result : results) {
      Result<T> read_value = read(result);
      if (!read_value) throw CLI::ValidationError(names, read_value.error().message);
      target->push_back(*std::move(read_value));
    }
    return true;
  };
  return app.add_option(names, take, help)->type_name(value)->expected(1, -1)->allow_extra_args(false);
}

void add_json(CLI::App& app, Format* format, const std::string& help) {
  app.add_flag_function("--json", [=](std::int64_t) { *format = Format::kJson; }, help);
}

void add_task_id(CLI::App& app, TaskId* id) {
  add_value<TaskId>(app, "ID", "", id, read_task_id, "the task")->required();
}

// Adds the same options to drover itself and to every verb, so that they may stand before or after it.
void add_common(CLI::App& app, CommonOptions* common) {
  const std::string group(kCommonGroup);
  add_value<std::string>(app, "--store", "URL", &common->store, read_text,
                         "sqlite:PATH or memory:; else DROVER_STORE, drover.yaml, .drover/ or your state folder")
      ->group(group);
  add_value<ColorChoice>(app, "--color", "auto|always|never", &common->color, read_color, "colours on a terminal")
      ->group(group);
  add_value<LogLevel>(app, "--log-level", "debug|info|warn|error|off", &common->log_level, read_log_level,
                      "what Drover's own log tells")
      ->group(group);
  app.get_help_ptr()->description("show this help")->group(group);
}

// ---- the grammar

class Grammar {
 public:
  Grammar();

  std::expected<Invocation, UsageError> parse(std::span<const std::string> arguments);
  [[nodiscard]] CommandSpec describe() const { return describe(root_); }

 private:
  template <class Options>
  std::pair<CLI::App*, Options*> add_verb(CLI::App& parent, const std::string& name, const std::string& group);

  void add_enqueue();
  void add_run();
  void add_list_verb();
  void add_show();
  void add_wait();
  void add_logs();
  void add_cancel();
  void add_retry();
  void add_events();
  void add_work();
  void add_up();
  void add_progress();
  void add_fsck();
  void add_store();
  void add_config();
  void add_trust();
  void add_worker();
  void add_explain();
  void add_gate();
  void add_queue();
  CLI::App& add_family(const std::string& name);
  void add_completion();
  void add_help();
  void add_task_flags(CLI::App& verb, TaskArguments* task);

  [[nodiscard]] const CLI::App* chosen() const;
  [[nodiscard]] std::optional<UsageError> complaint_about_extras() const;
  [[nodiscard]] std::expected<Invocation, UsageError> finish();
  [[nodiscard]] static CommandSpec describe(const CLI::App& app);

  CLI::App root_;
  CommonOptions common_;
  bool version_ = false;
  std::vector<std::string> after_dashes_;
  std::vector<std::string> help_path_;
  // What each verb becomes once everything is read; throws ValidationError when its options do not go together.
  std::map<const CLI::App*, std::function<Command()>> finish_;
  std::vector<std::shared_ptr<void>> options_;
};

template <class Options>
std::pair<CLI::App*, Options*> Grammar::add_verb(CLI::App& parent, const std::string& name, const std::string& group) {
  const VerbText& text = verb_text(&parent == &root_ ? name : parent.get_name() + " " + name);
  CLI::App* verb = parent.add_subcommand(name, std::string(text.summary));
  verb->group(group)->footer(std::string(text.footer))->allow_extras();
  add_common(*verb, &common_);
  auto options = std::make_shared<Options>();
  options_.push_back(options);
  finish_[verb] = [options] { return Command(*options); };
  return {verb, options.get()};
}

Grammar::Grammar() : root_("A durable task queue for fleets of AI agents.", "drover") {
  root_.require_subcommand(0, 1)->allow_extras()->footer(std::string(verb_text("").footer));
  add_common(root_, &common_);
  root_.add_flag("--version", version_, "show the version")->group(std::string(kCommonGroup));
  add_up();
  add_work();
  add_enqueue();
  add_run();
  add_list_verb();
  add_show();
  add_wait();
  add_logs();
  add_explain();
  add_cancel();
  add_retry();
  add_progress();
  add_events();
  add_queue();
  add_gate();
  add_worker();
  add_config();
  add_trust();
  add_fsck();
  add_store();
  add_completion();
  add_help();
}

void Grammar::add_task_flags(CLI::App& verb, TaskArguments* task) {
  TaskSpec* spec = &task->spec;
  add_value<std::string>(verb, "--payload", "JSON|@FILE|-", &task->payload, read_text,
                         "what the task gets: JSON, a file or stdin");
  add_value<std::string>(verb, "--prompt", "TEXT", &spec->prompt, read_text, "what the agent is asked");
  add_value<std::string>(verb, "--queue", "Q", &spec->queue, read_name,
                         "where it waits; default: the type's, or its name");
  add_value<std::string>(verb, "--owner", "O", &spec->owner, read_name, "on whose account it runs");
  add_value<int>(verb, "--priority", "P", &spec->priority, parse_priority,
                 "0 (first) to 9, or critical, high, normal, low");
  add_value<Millis>(verb, "--delay", "D", &spec->delay, parse_duration,
                    "start no earlier than this from now: 500ms, 30s, 2h");
  add_value<Time>(verb, "--at", "T", &spec->run_at, parse_time, "start no earlier than this time (RFC 3339)");
  const auto read_parent = [](std::string_view text) -> Result<ParentRef> { return read_task_id(text); };
  add_list<ParentRef>(verb, "--after", "ID", &spec->depends_on, read_parent, "start when this task has completed");
  add_value<OnParentFailure>(verb, "--on-parent-failure", "cancel|fail|run", &spec->on_parent_failure,
                             read_on_parent_failure, "what happens if it does not complete");
  add_value<std::string>(verb, "--request-id", "R", &spec->request_id, read_name,
                         "the same request again gives the same task");
  add_value<std::string>(verb, "--dedupe-key", "K", &spec->dedupe_key, read_name,
                         "do not make it twice: what is the same has the same key");
  add_value<DedupeMode>(verb, "--dedupe", "single_flight|drop|merge|replace|keep_latest", &spec->dedupe,
                        read_dedupe_mode,
                        "what to do if it is there already; the key is its type and payload unless given");
  add_value<Millis>(verb, "--dedupe-window", "D", &spec->dedupe_window, read_time_limit,
                    "how long --dedupe drop remembers; default 5m");
  add_list<std::string>(verb, "--lock", "K", &spec->locks, read_name, "only one task at a time holds it");
  add_value<std::int64_t>(
      verb, "--cost", "N", &spec->cost, [](std::string_view text) { return read_integer(text, kCostBounds); },
      "units of the rates that it passes; default 1");
  add_list<std::string>(verb, "--tag", "T", &spec->tags, read_name, "a label to find it by");
  add_value<int>(verb, "--max-attempts", "N", &spec->max_attempts, integer_between(kMaxAttemptsBounds),
                 "counted runs before it fails");
  add_value<RetryPolicy>(verb, "--retry", "KIND:ARGS", &spec->retry, parse_retry_policy,
                         "exponential:1s,2,300s, linear:60ms, fixed:1s or list:1s,5s,30s");
  add_value<Millis>(verb, "--timeout", "D", &spec->timeout, read_time_limit, "how long one run may take");
  add_value<Millis>(verb, "--idle-timeout", "D", &spec->idle_timeout, read_time_limit, "how long a run may be silent");
  add_value<Millis>(verb, "--deadline", "D", &spec->deadline, read_time_limit,
                    "when it must have ended, all runs together");
  add_value<std::string>(verb, "--fallback", "JSON", &task->fallback, read_text, "its result if the deadline passes");
  verb.add_flag_function(
      "--at-most-once", [=](std::int64_t) { spec->at_most_once = true; }, "never run it twice, even if a worker dies");
}

void check_task(const TaskArguments& task) {
  if (task.spec.dedupe_window && task.spec.dedupe != DedupeMode::kDrop)
    throw CLI::ValidationError("--dedupe-window", "only --dedupe drop has a window");
  if (task.spec.delay && task.spec.run_at) throw CLI::ValidationError("--delay and --at", "give one of them");
}

void Grammar::add_enqueue() {
  auto [verb, options] = add_verb<EnqueueOptions>(root_, "enqueue", "Tasks");
  add_value<std::string>(*verb, "TYPE", "", &options->task.spec.type, read_name, "what kind of work it is");
  add_task_flags(*verb, &options->task);
  add_value<std::string>(*verb, "--batch", "FILE", &options->batch, read_text,
                         "NDJSON, one task object a line, all or nothing; - is stdin");
  verb->add_flag("--wait", options->wait, "wait for the end; exit 0 completed, 10 failed, 11 cancelled");
  add_json(*verb, &options->format, R"(print {"id", "state", "deduplicated"})");
  finish_[verb] = [options = options] {
    const bool has_task = options->task != TaskArguments{};
    if (options->batch && has_task)
      throw CLI::ValidationError("--batch", "its lines say everything: no TYPE and no task options beside it");
    if (!options->batch && options->task.spec.type.empty())
      throw CLI::ValidationError("TYPE", "is missing (or --batch FILE)");
    check_task(options->task);
    return Command(*options);
  };
}

void Grammar::add_run() {
  auto [verb, options] = add_verb<RunOptions>(root_, "run", "Tasks");
  add_value<std::string>(*verb, "TYPE", "", &options->task.spec.type, read_name, "what kind of work it is")->required();
  add_task_flags(*verb, &options->task);
  add_json(*verb, &options->format, "print the whole task instead of its result");
  finish_[verb] = [options = options] {
    check_task(options->task);
    return Command(*options);
  };
}

void Grammar::add_list_verb() {
  auto [verb, options] = add_verb<ListOptions>(root_, "list", "Tasks");
  TaskFilter* filter = &options->filter;
  add_value<std::string>(*verb, "--type", "T", &filter->type, read_name, "only this type");
  add_value<std::string>(*verb, "--queue", "Q", &filter->queue, read_name, "only this queue");
  add_value<std::string>(*verb, "--owner", "O", &filter->owner, read_name, "only this owner");
  add_value<std::vector<TaskState>>(
      *verb, "--state", "S,S", &filter->states, read_states,
      "only these states: blocked scheduled pending running stalled completed failed cancelled");
  add_value<std::string>(*verb, "--tag", "T", &filter->tag, read_name, "only with this tag");
  add_value<TaskId>(*verb, "--parent", "ID", &filter->parent_id, read_task_id, "only what this task spawned");
  add_value<int>(*verb, "--limit", "N", &options->limit, integer_between({1, 1'000'000}),
                 fmt::format("at most so many; default {}", kListLimitDefault));
  add_value<std::string>(*verb, "--cursor", "C", &options->cursor, read_text,
                         "go on where the list before this one ended");
  verb->add_flag("-q,--quiet", options->ids_only, "ids only");
  add_json(*verb, &options->format, "print a JSON array of tasks");
}

void Grammar::add_show() {
  auto [verb, options] = add_verb<ShowOptions>(root_, "show", "Tasks");
  add_task_id(*verb, &options->id);
  verb->add_flag("--runs", options->runs, "its runs, newest first, instead of the task");
  add_json(*verb, &options->format, "print the task as JSON");
}

void Grammar::add_wait() {
  auto [verb, options] = add_verb<WaitOptions>(root_, "wait", "Tasks");
  add_task_id(*verb, &options->id);
  add_value<Millis>(*verb, "--timeout", "D", &options->timeout, parse_duration, "give up after this; exit 124");
  add_json(*verb, &options->format, "print the task as JSON");
}

void Grammar::add_logs() {
  auto [verb, options] = add_verb<LogsOptions>(root_, "logs", "Tasks");
  add_task_id(*verb, &options->id);
  verb->add_flag("-f,--follow", options->follow, "go on until the task ends");
  add_value<int>(*verb, "--run", "N", &options->run, integer_between({1, 1'000'000'000}), "only this run");
  add_json(*verb, &options->format, "print one JSON object a line");
}

void Grammar::add_cancel() {
  auto [verb, options] = add_verb<CancelOptions>(root_, "cancel", "Tasks");
  add_task_id(*verb, &options->id);
  add_value<std::string>(*verb, "--reason", "R", &options->reason, read_text, "why; kept with the task");
  add_json(*verb, &options->format, R"(print {"id", "state", "cancelled", "requested"})");
}

void Grammar::add_retry() {
  auto [verb, options] = add_verb<RetryOptions>(root_, "retry", "Tasks");
  add_task_id(*verb, &options->id);
  add_json(*verb, &options->format, "print the task as JSON");
}

void Grammar::add_events() {
  auto [verb, options] = add_verb<EventsOptions>(root_, "events", "Operating");
  verb->add_flag("-f,--follow", options->follow, "go on with what happens next; without --after only that");
  const auto read_seq = [](std::string_view text) {
    return read_integer(text, {0, std::numeric_limits<std::int64_t>::max()});
  };
  add_value<std::int64_t>(*verb, "--after", "SEQ", &options->after, read_seq,
                          "events after this one; 0: from the first");
  add_value<int>(*verb, "--limit", "N", &options->limit, integer_between({1, 1'000'000'000}), "at most so many");
  add_json(*verb, &options->format, "print one JSON object a line");
}

void Grammar::add_work() {
  auto [verb, options] = add_verb<WorkOptions>(root_, "work", "Running");
  add_list<std::string>(*verb, "--type", "T", &options->types, read_name, "serve the queue named T, only this type")
      ->allow_extra_args();
  add_list<std::string>(*verb, "--queue", "Q", &options->queues, read_name, "serve all types of this queue")
      ->allow_extra_args();
  add_value<int>(*verb, "--concurrency", "N", &options->concurrency, integer_between(kConcurrencyBounds),
                 "how many at once; default 1, or the profile's");
  verb->add_flag("--until-empty", options->until_empty, "end when nothing is left to do");
  add_value<Millis>(*verb, "--lease", "D", &options->lease, read_lease,
                    "how long a silent worker keeps its tasks; default 30s");
  CLI::Option* heartbeat = add_value<Millis>(*verb, "--heartbeat", "D", &options->heartbeat, read_time_limit,
                                             "how often leases are renewed; default 5s, or a sixth of a shorter lease");
  finish_[verb] = [this, heartbeat, options = options] {
    if (options->types.empty() && options->queues.empty())
      throw CLI::ValidationError("--type or --queue", "say what to serve");
    if (heartbeat->count() == 0) options->heartbeat = std::min(options->heartbeat, options->lease / 6);
    if (const Status valid = check_heartbeat(options->lease, options->heartbeat); !valid)
      throw CLI::ValidationError("--heartbeat", valid.error().message);
    options->argv = std::exchange(after_dashes_, {});
    return Command(*options);
  };
}

void Grammar::add_up() {
  add_verb<UpOptions>(root_, "up", "Running");
}

void Grammar::add_progress() {
  auto [verb, options] = add_verb<ProgressOptions>(root_, "progress", "Running");
  add_value<int>(*verb, "PERCENT", "", &options->percent, integer_between({0, 100}), "0 to 100")->required();
  add_value<std::string>(*verb, "MESSAGE", "", &options->message, read_text, "what is being done");
}

void Grammar::add_fsck() {
  auto [verb, options] = add_verb<FsckOptions>(root_, "fsck", "Operating");
  verb->add_flag_function(
      "--repair", [o = options](std::int64_t) { o->mode = FsckMode::kRepair; }, "mend what can be mended");
  add_json(*verb, &options->format, "print a JSON array of findings");
}

// A verb that only has commands of its own.
CLI::App& Grammar::add_family(const std::string& name) {
  const VerbText& text = verb_text(name);
  CLI::App* family = root_.add_subcommand(name, std::string(text.summary));
  family->group("Operating")->footer(std::string(text.footer))->allow_extras()->require_subcommand(0, 1);
  add_common(*family, &common_);
  return *family;
}

void Grammar::add_explain() {
  auto [verb, options] = add_verb<ExplainOptions>(root_, "explain", "Tasks");
  add_task_id(*verb, &options->id);
  add_json(*verb, &options->format, "print the explanation as JSON");
}

void add_reason(CLI::App& verb, GateSetOptions* options) {
  add_value<std::string>(verb, "--reason", "R", &options->reason, read_text, "why; shown to whoever asks");
  add_json(verb, &options->format, "print the gate as JSON");
}

void add_closing(CLI::App& verb, GateSetOptions* options) {
  options->what = GateSetOptions::What::kClose;
  add_value<Millis>(verb, "--for", "D", &options->close_for, read_time_limit, "only for so long");
  add_value<Time>(verb, "--until", "T", &options->close_until, parse_time, "only until this time (RFC 3339)");
  add_reason(verb, options);
}

std::function<Command()> finish_closing(const GateSetOptions* options) {
  return [options] {
    if (options->close_for && options->close_until) throw CLI::ValidationError("--for and --until", "give one of them");
    return Command(*options);
  };
}

void add_gate_name(CLI::App& verb, GateSetOptions* options) {
  add_value<std::string>(verb, "GATE", "", &options->gate, read_gate,
                         "all, queue:Q, type:T, owner:O, lock:K or provider:P")
      ->required();
}

void Grammar::add_gate() {
  CLI::App& gate = add_family("gate");
  auto [list, list_options] = add_verb<GateListOptions>(gate, "list", "");
  add_json(*list, &list_options->format, "print a JSON array of gates");
  auto [open, open_options] = add_verb<GateSetOptions>(gate, "open", "");
  add_gate_name(*open, open_options);
  add_reason(*open, open_options);
  auto [close, close_options] = add_verb<GateSetOptions>(gate, "close", "");
  add_gate_name(*close, close_options);
  add_closing(*close, close_options);
  finish_[close] = finish_closing(close_options);
  auto [limit, limit_options] = add_verb<GateSetOptions>(gate, "limit", "");
  limit_options->what = GateSetOptions::What::kLimit;
  add_gate_name(*limit, limit_options);
  add_value<std::optional<int>>(*limit, "PERMITS", "", &limit_options->permits, read_permits,
                                "how many may run at once; none: no limit by hand any more")
      ->required();
  add_reason(*limit, limit_options);
}

void Grammar::add_queue() {
  CLI::App& queue = add_family("queue");
  auto [list, list_options] = add_verb<QueueListOptions>(queue, "list", "");
  add_json(*list, &list_options->format, "print a JSON array of queues");
  const auto read_queue = [](std::string_view text) -> Result<std::string> {
    auto name = read_name(text);
    if (name) name->insert(0, "queue:");
    return name;
  };
  auto [pause, pause_options] = add_verb<GateSetOptions>(queue, "pause", "");
  add_value<std::string>(*pause, "QUEUE", "", &pause_options->gate, read_queue, "the queue")->required();
  add_closing(*pause, pause_options);
  finish_[pause] = finish_closing(pause_options);
  auto [resume, resume_options] = add_verb<GateSetOptions>(queue, "resume", "");
  add_value<std::string>(*resume, "QUEUE", "", &resume_options->gate, read_queue, "the queue")->required();
  add_reason(*resume, resume_options);
}

void Grammar::add_store() {
  CLI::App& store = add_family("store");
  auto [show, show_options] = add_verb<StoreOptions>(store, "show", "");
  add_json(*show, &show_options->format, R"(print {"last_event", "lost", "epochs"})");
  auto [accept, accept_options] = add_verb<StoreOptions>(store, "accept-regression", "");
  accept_options->what = StoreOptions::What::kAcceptRegression;
  add_json(*accept, &accept_options->format, R"(print {"last_event", "lost", "epochs"})");
}

void Grammar::add_config() {
  CLI::App& config = add_family("config");
  auto [apply, apply_options] = add_verb<ConfigApplyOptions>(config, "apply", "");
  add_value<std::string>(*apply, "FILE", "", &apply_options->file, read_text, "a drover.yaml, YAML or JSON; - is stdin")
      ->required();
  add_json(*apply, &apply_options->format, R"(print {"version", "changed"})");
  auto [show, show_options] = add_verb<ConfigShowOptions>(config, "show", "");
  add_json(*show, &show_options->format, R"(print {"version", "document"})");
}

void Grammar::add_trust() {
  auto [verb, options] = add_verb<TrustOptions>(root_, "trust", "Operating");
  options->file = "drover.yaml";
  add_value<std::string>(*verb, "FILE", "", &options->file, read_text, "default: drover.yaml here");
  add_json(*verb, &options->format, R"(print {"path", "sha256"})");
}

void Grammar::add_worker() {
  auto [list, options] = add_verb<WorkerListOptions>(add_family("worker"), "list", "");
  add_json(*list, &options->format, "print a JSON array of workers");
}

void Grammar::add_completion() {
  auto [verb, options] = add_verb<CompletionOptions>(root_, "completion", "Other");
  add_value<Shell>(*verb, "bash|zsh|fish", "", &options->shell, read_shell, "the shell that will read it")->required();
}

void Grammar::add_help() {
  auto [verb, options] = add_verb<HelpOptions>(root_, "help", "Other");
  add_list<std::string>(*verb, "COMMAND", "", &options->path, read_text, "the command to explain")->allow_extra_args();
}

// ---- parsing

// CLI11 reads `--name=` as a name whose value comes next; an empty value has to stand by itself.
void add_argument(std::vector<std::string>& to, const std::string& argument) {
  if (argument.starts_with("--") && argument.find('=') == argument.size() - 1) {
    to.push_back(argument.substr(0, argument.size() - 1));
    to.emplace_back();
  } else {
    to.push_back(argument);
  }
}

// CLI11's words for the two mistakes that people make most are hard to read.
std::string explain(const CLI::ParseError& error) {
  const std::string text = error.what();
  const std::string name = text.substr(0, text.find(": "));
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr) {
    if (text.ends_with("missing")) return fmt::format("{} needs a value", name);
    if (text.find("At Most") != std::string::npos) return fmt::format("{} is given more than once", name);
  }
  if (dynamic_cast<const CLI::RequiredError*>(&error) != nullptr) {
    return fmt::format("{} is missing", text.substr(0, text.find(" is required")));
  }
  return text;
}

std::string display_path(const CLI::App& app) {
  return app.get_parent() == nullptr ? app.get_name() : display_path(*app.get_parent()) + " " + app.get_name();
}

std::vector<std::string> path_below_root(const CLI::App& app) {
  if (app.get_parent() == nullptr) return {};
  std::vector<std::string> path = path_below_root(*app.get_parent());
  path.push_back(app.get_name());
  return path;
}

std::vector<std::string> flag_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

std::vector<std::string> command_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(command->get_name());
  return names;
}

std::string did_you_mean(std::string_view word, const std::vector<std::string>& known) {
  const std::string_view near = closest_word(word, known);
  return near.empty() ? "" : fmt::format("; did you mean {}?", near);
}

// The verb, or the command of a verb, that the arguments name.
const CLI::App* Grammar::chosen() const {
  const CLI::App* app = &root_;
  while (!app->get_subcommands().empty()) app = app->get_subcommands().front();
  return app;
}

// About the first word that nothing takes, as the command that met it would say it.
std::string complain(const CLI::App& app, const std::string& extra) {
  const std::string word = extra.substr(0, extra.find('='));
  if (word.starts_with('-')) return fmt::format("unknown option {}{}", word, did_you_mean(word, flag_names(app)));
  const std::vector<std::string> commands = command_names(app);
  if (commands.empty()) return fmt::format("unexpected argument {}", quoted_excerpt(extra));
  return fmt::format("unknown command {}{}", quoted_excerpt(word), did_you_mean(word, commands));
}

std::optional<UsageError> Grammar::complaint_about_extras() const {
  for (const CLI::App* app = &root_;; app = app->get_subcommands().front()) {
    const std::vector<std::string> extras = app->remaining();
    if (!extras.empty()) return UsageError{complain(*app, extras.front()), display_path(*app)};
    if (app->get_subcommands().empty()) return std::nullopt;
  }
}

std::expected<Invocation, UsageError> Grammar::finish() {
  const CLI::App* verb = chosen();
  if (version_) return Invocation{common_, VersionOptions{}};
  const auto found = finish_.find(verb);
  if (found == finish_.end()) {
    return std::unexpected(
        UsageError{fmt::format("say which command: {}", fmt::join(command_names(*verb), ", ")), display_path(*verb)});
  }
  Invocation invocation{common_, found->second()};
  if (!after_dashes_.empty()) throw CLI::ValidationError("--", "only work takes a command after it");
  return invocation;
}

std::expected<Invocation, UsageError> Grammar::parse(std::span<const std::string> arguments) {
  std::vector<std::string> before_dashes;
  const auto dashes = std::ranges::find(arguments, "--");
  for (auto argument = arguments.begin(); argument != dashes; ++argument) add_argument(before_dashes, *argument);
  if (dashes != arguments.end()) after_dashes_.assign(dashes + 1, arguments.end());
  std::ranges::reverse(before_dashes);  // as CLI11 wants them

  const auto usage_error = [&](std::string message) {
    return std::unexpected(UsageError{std::move(message), display_path(*chosen())});
  };
  try {
    root_.parse(std::move(before_dashes));
    if (auto complaint = complaint_about_extras()) return std::unexpected(*std::move(complaint));
    return finish();
  } catch (const CLI::CallForHelp&) {
    return Invocation{common_, HelpOptions{path_below_root(*chosen())}};
  } catch (const CLI::ParseError& error) {
    // A misspelt word explains a missing one.
    if (auto complaint = complaint_about_extras()) return std::unexpected(*std::move(complaint));
    return usage_error(explain(error));
  }
}

// ---- describing

FlagSpec describe_flag(const CLI::Option& option) {
  FlagSpec flag{.help = option.get_description()};
  if (!option.get_lnames().empty()) flag.long_name = "--" + option.get_lnames().front();
  if (!option.get_snames().empty()) flag.short_name = "-" + option.get_snames().front();
  if (option.get_items_expected_max() > 0) flag.value = option.get_type_name();
  flag.repeatable = option.get_items_expected_max() > 1;
  flag.common = option.get_group() == kCommonGroup;
  return flag;
}

CommandSpec Grammar::describe(const CLI::App& app) {
  CommandSpec spec{
      .name = app.get_name(), .summary = app.get_description(), .group = app.get_group(), .footer = app.get_footer()};
  for (const CLI::Option* option : app.get_options()) {
    if (option->nonpositional()) {
      spec.flags.push_back(describe_flag(*option));
    } else {
      spec.positionals.push_back({option->get_name(true), option->get_description(), option->get_required()});
    }
  }
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    spec.commands.push_back(describe(*command));
  }
  return spec;
}

}  // namespace

std::expected<Invocation, UsageError> parse_command_line(std::span<const std::string> arguments) {
  if (arguments.empty()) return Invocation{{}, HelpOptions{}};
  return Grammar().parse(arguments);
}

CommandSpec describe_command_line() {
  return Grammar().describe();
}

}  // namespace drover::cli
