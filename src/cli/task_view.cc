#include "cli/task_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <ctime>

#include "base/json.h"
#include "base/text.h"
#include "cli/display_text.h"
#include "cli/gate_view.h"
#include "cli/usage_view.h"
#include "core/budget.h"
#include "core/fingerprint.h"
#include "core/lane.h"
#include "core/question.h"
#include "core/run_report.h"
#include "core/task_fields.h"

namespace drover::cli {
namespace {

constexpr std::size_t kFieldNameWidth = 14;

std::string since(Time then, Time now) {
  return coarse_duration(std::max(Millis{0}, now - then));
}

std::string time_or_empty(const std::optional<Time>& time) {
  return time ? format_time(*time) : "";
}

std::string error_text(const TaskError& error) {
  return error.message.empty() ? std::string(name_of(error.error_class))
                               : fmt::format("{}: {}", name_of(error.error_class), error.message);
}

std::string escalation_text(const Escalation& escalation) {
  const std::string text = fmt::format("to {} by {} at {}", escalation.to, escalation.by, format_time(escalation.at));
  return escalation.why.empty() ? text : fmt::format("{}: {}", text, escalation.why);
}

std::string serves_text(const std::vector<Serve>& serves) {
  std::string text;
  for (const Serve& serve : serves) {
    if (!text.empty()) text += ' ';
    text += serve.queue;
    if (serve.type && *serve.type != serve.queue) text += "/" + *serve.type;
    if (!serve.trouble.empty()) text += fmt::format(" (not now: {})", serve.trouble);
  }
  return text;
}

Cell worker_state(const WorkerInfo& worker, Time now) {
  if (now - worker.last_beat_at > kWorkerSilence) return {"silent", Paint::kRed};
  if (worker.draining) return {"draining", Paint::kYellow};
  const auto in_trouble = [](const Serve& serve) { return !serve.trouble.empty(); };
  if (std::ranges::any_of(worker.serves, in_trouble)) return {"in trouble", Paint::kRed};
  return {"working", Paint::kGreen};
}

std::string joined(std::string first, const std::string& second) {
  if (!first.empty() && !second.empty()) first += "; ";
  return first + second;
}

// "ada@box: upgrade"
std::string drain_text(const WorkerInfo& worker) {
  if (worker.drain_by.empty()) return worker.drain_reason;
  return worker.drain_reason.empty() ? worker.drain_by : fmt::format("{}: {}", worker.drain_by, worker.drain_reason);
}

Paint paint_of_outcome(const std::string& outcome) {
  if (outcome.empty()) return Paint::kCyan;
  if (outcome == "completed") return Paint::kGreen;
  if (outcome == "failed" || outcome == "deadline_passed") return Paint::kRed;
  return Paint::kYellow;
}

std::string local_clock_time(Time time) {
  const std::time_t seconds = std::chrono::system_clock::to_time_t(std::chrono::floor<std::chrono::seconds>(time));
  std::tm local{};
  if (::localtime_r(&seconds, &local) == nullptr) return format_time(time);
  return fmt::format("{:02}:{:02}:{:02}", local.tm_hour, local.tm_min, local.tm_sec);
}

std::string plain_text(const json::Value& value) {
  const std::string* text = value.as_string();
  return text != nullptr ? *text : json::dump(value);
}

// The data of an event in words: "agent_error: exit code 1, again in 2s", "percent=40 message=tests".
std::string event_detail(const JsonText& data) {
  const auto value = json::parse(data);
  if (!value || value->as_object() == nullptr) return data;
  std::string detail;
  const json::Value* error_class = value->find("class");
  const json::Value* message = value->find("message");
  if (error_class != nullptr && message != nullptr) {
    detail = fmt::format("{}: {}", plain_text(*error_class), plain_text(*message));
    const json::Value* delay = value->find("delay_ms");
    const auto delay_ms = delay == nullptr ? std::nullopt : delay->as_int();
    return delay_ms ? fmt::format("{}, again in {}", detail, format_duration(Millis{*delay_ms})) : detail;
  }
  for (const auto& [key, member] : *value->as_object()) {
    const std::string text = plain_text(member);
    if (text.empty() || text == "null" || text == "false") continue;  // says nothing
    detail += fmt::format("{}{}={}", detail.empty() ? "" : " ", key, text);
  }
  return detail;
}

Paint paint_of_event(const Event& event) {
  if (event.name == "task.retrying" || event.name == "task.deferred" || event.name == "task.cancel_requested") {
    return Paint::kYellow;
  }
  return paint_of(event.state);
}

// Collects "name  value" lines; leaves out what has no value.
class Page {
 public:
  explicit Page(const Look& look) : look_(look) {}

  void add(std::string_view name, std::string_view value, Paint paint = Paint::kNone) {
    if (value.empty()) return;
    text_ += painted(fit_left(name, kFieldNameWidth), Paint::kDim, look_);
    std::string shown = harmless(value);
    for (std::size_t end = shown.find('\n'); end != std::string::npos; end = shown.find('\n', end + 1)) {
      shown.insert(end + 1, kFieldNameWidth, ' ');
    }
    text_.append(painted(shown, paint, look_)).append(1, '\n');
  }
  void add_optional(std::string_view name, const std::optional<std::string>& value) { add(name, value.value_or("")); }
  void add_json(std::string_view name, const std::optional<JsonText>& value) {
    if (!value) return;
    const auto parsed = json::parse(*value);
    add(name, parsed ? json::dump_pretty(*parsed) : *value);
  }
  void add_time(std::string_view name, const std::optional<Time>& time, Time now) {
    if (!time) return;
    const std::string distance =
        *time <= now ? fmt::format("{} ago", since(*time, now)) : fmt::format("in {}", until(now, *time));
    add(name, fmt::format("{} ({})", format_time(*time), distance));
  }
  [[nodiscard]] std::string take() && { return std::move(text_); }

 private:
  const Look& look_;
  std::string text_;
};

void add_identity(Page& page, const Task& task) {
  page.add("id", task.id.to_string());
  page.add("type", task.type);
  page.add("state", name_of(task.state), paint_of(task.state));
  page.add("queue", task.queue);
  page.add("owner", task.owner);
  page.add("priority", std::to_string(task.priority));
  page.add("tags", fmt::format("{}", fmt::join(task.tags, " ")));
  page.add_optional("request id", task.request_id);
  if (task.dedupe_key && task.dedupe) page.add("dedupe", fmt::format("{} {}", name_of(*task.dedupe), *task.dedupe_key));
  page.add("locks", fmt::format("{}", fmt::join(locks_of(task), " ")));
  page.add_optional("session", session_in(task));
  if (task.cost != 1) page.add("cost", std::to_string(task.cost));
  if (task.parent_id) page.add("spawned by", task.parent_id->to_string());
  std::string parents;
  for (const TaskId& parent : task.depends_on) parents += (parents.empty() ? "" : " ") + parent.to_string();
  page.add("depends on", parents);
  if (!parents.empty()) page.add("if one fails", name_of(task.on_parent_failure));
}

// "3 USD, 80 turns, 45m"
std::string budget_text(const std::optional<JsonText>& json) {
  if (!json) return {};
  const auto budget = parse_task_budget(*json);
  if (!budget) return *json;
  std::string text;
  for (const BudgetUnit unit : kBudgetUnits) {
    const std::optional<std::int64_t>& amount = (*budget)[std::to_underlying(unit)];
    if (amount) text += (text.empty() ? "" : ", ") + format_amount(unit, *amount);
  }
  return text;
}

void add_life(Page& page, const Task& task, Time now) {
  page.add_time("created", task.created_at, now);
  page.add_time("run at", task.run_at, now);
  page.add_time("started", task.started_at, now);
  page.add_time("finished", task.finished_at, now);
  page.add_time("deadline", task.deadline_at, now);
  page.add("attempts", fmt::format("{} of {}", task.attempts, task.max_attempts));
  if (task.stalls > 0) page.add("stalls", fmt::format("{} of {}", task.stalls, task.max_stalls));
  if (task.defers > 0) page.add("defers", fmt::format("{} of {}", task.defers, task.max_defers));
  if (task.suspends > 0) page.add("suspends", fmt::format("{} of {}", task.suspends, task.max_suspends));
  if (task.generation > 1) page.add("generation", std::to_string(task.generation));
  page.add("retry", to_string(task.retry));
  page.add("timeout", fmt::format("{}, idle {}", format_duration(task.timeout), format_duration(task.idle_timeout)));
  page.add("budget", budget_text(task.budget));
  page.add("tree budget", budget_text(task.tree_budget));
  if (task.at_most_once) page.add("at most once", "yes");
  page.add_optional("worker", task.worker_id);
}

// Until a task has ended, its error and exit code are those of an earlier run.
void add_error(Page& page, const Task& task, std::span<const RunSummary> runs) {
  if (is_terminal(task.state)) {
    if (task.error) page.add("error", error_text(*task.error), Paint::kRed);
    if (task.error) page.add("fingerprint", fingerprint(*task.error));
    if (task.escalation) page.add("escalated", escalation_text(*task.escalation));
    if (task.exit_code) page.add("exit code", std::to_string(*task.exit_code));
    return;
  }
  if (!task.error) return;
  const auto failed = std::ranges::find_if(runs, [](const RunSummary& run) { return run.error.has_value(); });
  const std::string which = failed == runs.end() ? "" : fmt::format("run {}: ", failed->run);
  page.add("last error", which + error_text(*task.error), Paint::kYellow);
}

// "system_prompt" as people read it.
std::string in_words(std::string_view name) {
  std::string words(name);
  std::ranges::replace(words, '_', ' ');
  return words;
}

template <FieldKind Kind>
void add_texts(Page& page, const Task& task) {
  visit_task_fields([&](auto field) {
    if constexpr (field.kIs.kind == Kind) page.add_optional(in_words(field.name()), field.of(task));
  });
}

std::string agent_text(const AgentState& agent) {
  std::string text = agent.preset;
  if (!agent.model.empty()) text += " " + agent.model;
  if (!agent.session_id.empty()) text += ", session " + agent.session_id;
  return text + fmt::format(" on {}{}", agent.host, agent.resumed ? ", resumed" : "");
}

std::string next_run_text(const Task& task) {
  const NextRun next = next_run_of(task);
  std::string text = next.session == SessionUse::kResume ? "resumes the session" : "begins a fresh session";
  if (next.model) text += " with " + *next.model;
  return text;
}

void add_outcome(Page& page, const Task& task, std::span<const RunSummary> runs, Time now) {
  if (task.progress) page.add("progress", fmt::format("{}% {}", task.progress->percent, task.progress->message));
  page.add_time("cancel asked", task.cancel_requested_at, now);
  page.add_optional("cancel reason", task.cancel_reason);
  add_error(page, task, runs);
  add_texts<FieldKind::kLabel>(page, task);
  add_texts<FieldKind::kText>(page, task);
  if (const auto agent = agent_of(task)) page.add("agent", agent_text(*agent));
  if (task.usage) page.add("used", usage_text(task.usage));
  if (task.next && !is_terminal(task.state) && task.state != TaskState::kRunning)
    page.add("next run", next_run_text(task));
  page.add_json("payload", task.payload);
  page.add_json("checkpoint", task.checkpoint);
  page.add_json(task.fallback ? "fallback" : "result", task.result);
}

// An event of a gate is of no task.
std::string gate_event_line(const Event& event, const Look& look) {
  if (!look.terminal) {
    return fmt::format("{}\t{}\t{}\t\t\t\t\t\t\t{}\n", event.seq, format_time(event.at), event.name,
                       tsv_field(event.data));
  }
  constexpr std::size_t kHeadWidth = 8 + 2 + 16 + 2;
  const auto width = std::max(static_cast<std::size_t>(look.width), kHeadWidth + 24);
  return fmt::format("{}  {}  {}\n", painted(local_clock_time(event.at), Paint::kDim, look),
                     painted(fit_left(event.name, 16), Paint::kYellow, look),
                     cut_to_width(one_line(event_detail(event.data)), width - kHeadWidth));
}

// The first that it asked is told; what was asked last comes first in the list.
std::string answer_note(const Task& task, Time now, std::span<const Question> asked) {
  const Question* first = nullptr;
  for (const Question& question : asked) {
    if (question.task_id == task.id) first = &question;
  }
  if (first == nullptr) return "waits for an answer";
  return fmt::format("waits for an answer to {} ({}, question {})", quoted_excerpt(first->text),
                     since(first->asked_at, now), first->id.to_string());
}

}  // namespace

std::string until(Time now, Time then) {
  const Millis left = std::max(Millis{0}, then - now);
  if (left < std::chrono::hours(1)) return format_duration(std::chrono::ceil<std::chrono::seconds>(left));
  return format_duration(std::chrono::ceil<std::chrono::minutes>(left));
}

std::string coarse_duration(Millis duration) {
  struct Unit {
    Millis length;
    std::string_view name;
  };
  static constexpr std::array kUnits = std::to_array<Unit>({{std::chrono::days(1), "d"},
                                                            {std::chrono::hours(1), "h"},
                                                            {std::chrono::minutes(1), "m"},
                                                            {std::chrono::seconds(1), "s"}});
  for (const Unit& unit : kUnits) {
    if (duration >= unit.length) return fmt::format("{}{}", duration / unit.length, unit.name);
  }
  return fmt::format("{}ms", duration.count());
}

Paint paint_of(TaskState state) {
  switch (state) {
    case TaskState::kBlocked:
    case TaskState::kScheduled:
      return Paint::kDim;
    case TaskState::kPending:
      return Paint::kNone;
    case TaskState::kRunning:
      return Paint::kCyan;
    case TaskState::kStalled:
      return Paint::kMagenta;
    case TaskState::kCompleted:
      return Paint::kGreen;
    case TaskState::kFailed:
      return Paint::kRed;
    case TaskState::kCancelled:
      return Paint::kYellow;
  }
  return Paint::kNone;
}

std::string note_on(const Task& task, Time now, std::span<const Question> asked) {
  switch (task.state) {
    case TaskState::kBlocked:
      if (waits_for_answer(task)) return answer_note(task, now, asked);
      return task.depends_on.size() == 1 ? "waits for its parent" : "waits for its parents";
    case TaskState::kScheduled: {
      const std::string when =
          task.run_at && *task.run_at > now ? fmt::format("in {}", until(now, *task.run_at)) : "due";
      return task.error ? fmt::format("{}, after {}", when, error_text(*task.error)) : when;
    }
    case TaskState::kPending:
    case TaskState::kStalled:
    case TaskState::kFailed:
      return task.error ? error_text(*task.error) : "";
    case TaskState::kRunning:
      if (task.cancel_requested_at) return "cancel requested";
      return task.progress ? fmt::format("{}% {}", task.progress->percent, task.progress->message) : "";
    case TaskState::kCompleted:
      return task.fallback ? "fallback result" : "";
    case TaskState::kCancelled:
      return task.cancel_reason.value_or("");
  }
  return {};
}

Table task_table(std::span<const Task> tasks, Time now, std::span<const GateStatus> gates,
                 std::span<const Question> asked) {
  Table table({{"ID"},
               {"TYPE", Fit::kElastic},
               {"QUEUE", Fit::kSpare},
               {"OWNER", Fit::kSpare},
               {"STATE"},
               {"PRIORITY", Fit::kSpare},
               {"TRY"},
               {"MAX", Fit::kHidden},
               {"AGE"},
               {"NOTE", Fit::kRest}});
  for (const Task& task : tasks) {
    table.add({task.id.to_string(), task.type, task.queue, task.owner,
               Cell(std::string(name_of(task.state)), paint_of(task.state)), std::to_string(task.priority),
               Cell(fmt::format("{}/{}", task.attempts, task.max_attempts), std::to_string(task.attempts)),
               std::to_string(task.max_attempts), Cell(since(task.created_at, now), format_time(task.created_at)),
               joined(joined(held_note(task, gates), note_on(task, now, asked)), cost_text(task))});
  }
  return table;
}

Table run_table(std::span<const RunSummary> runs, Time now) {
  const bool any_used = std::ranges::any_of(runs, [](const RunSummary& run) { return run.usage.has_value(); });
  Table table({{"RUN"},
               {"GENERATION", Fit::kHidden},
               {"OUTCOME"},
               {"STARTED"},
               {"ENDED", Fit::kHidden},
               {"TOOK"},
               {"EXIT"},
               {"USED", any_used ? Fit::kElastic : Fit::kHidden},
               {"WORKER", Fit::kElastic},
               {"ERROR", Fit::kRest}});
  for (const RunSummary& run : runs) {
    const Time end = run.ended_at.value_or(now);
    const Millis took = std::max(Millis{0}, end - run.started_at);
    table.add({std::to_string(run.run), std::to_string(run.generation),
               Cell(run.outcome.empty() ? "running" : run.outcome, paint_of_outcome(run.outcome)),
               Cell(fmt::format("{} ago", since(run.started_at, now)), format_time(run.started_at)),
               time_or_empty(run.ended_at), Cell(coarse_duration(took), std::to_string(took.count())),
               Cell(run.exit_code ? std::to_string(*run.exit_code) : ""), usage_text(run.usage), run.worker_id,
               run.error ? error_text(*run.error) : ""});
  }
  return table;
}

Table worker_table(std::span<const WorkerInfo> workers, Time now) {
  const bool any_told = std::ranges::any_of(workers, [](const WorkerInfo& worker) { return worker.draining; });
  Table table({{"WORKER"},
               {"VERSION", Fit::kElastic},
               {"RUNNING"},
               {"CAPACITY", Fit::kHidden},
               {"UP", Fit::kHidden},
               {"BEAT"},
               {"STATE"},
               {"WHY", any_told ? Fit::kElastic : Fit::kHidden},
               {"SERVES", Fit::kRest}});
  for (const WorkerInfo& worker : workers) {
    table.add({worker.id, worker.version,
               Cell(fmt::format("{}/{}", worker.running, worker.capacity), std::to_string(worker.running)),
               std::to_string(worker.capacity),
               Cell(since(worker.registered_at, now), format_time(worker.registered_at)),
               Cell(fmt::format("{} ago", since(worker.last_beat_at, now)), format_time(worker.last_beat_at)),
               worker_state(worker, now), drain_text(worker), serves_text(worker.serves)});
  }
  return table;
}

std::string task_page(const Task& task, std::span<const RunSummary> runs, Time now, const Look& look,
                      std::span<const Question> asked) {
  Page page(look);
  add_identity(page, task);
  for (const Question& question : asked) page.add("asks", in_words(question, now), Paint::kYellow);
  add_life(page, task, now);
  add_outcome(page, task, runs, now);
  std::string text = std::move(page).take();
  if (!runs.empty() && look.terminal) text += "\n" + run_table(runs, now).render(look);
  return text;
}

std::string gap_line(const EventGap& gap) {
  return fmt::format("the store went backwards: from event {} to {}; what follows is new", gap.after, gap.seq);
}

std::string event_line(const Event& event, const Look& look) {
  if (event.task.is_nil()) return gate_event_line(event, look);
  const std::string id = event.task.to_string();
  if (!look.terminal) {
    return fmt::format("{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\n", event.seq, format_time(event.at), event.name, id,
                       event.type, event.queue, event.owner, name_of(event.state), event.run, tsv_field(event.data));
  }
  const std::string_view name = std::string_view(event.name).substr(event.name.find('.') + 1);
  const auto width = static_cast<std::size_t>(look.width);
  const std::size_t type_width = width < 82 ? 14 : 16;  // so that the id fits into 80 columns
  const std::string head =
      fmt::format("{}  {}  {}  {}", painted(local_clock_time(event.at), Paint::kDim, look),
                  painted(fit_left(name, 16), paint_of_event(event), look), fit_left(event.type, type_width), id);
  const std::size_t head_width = 8 + 2 + 16 + 2 + type_width + 2 + 36;
  // Which worker it was is for programs; people see the run.
  const bool claimed = event.name == "task.claimed";
  const std::string detail = claimed ? fmt::format("run {}", event.run) : one_line(event_detail(event.data));
  // On a narrow terminal the detail gets a line of its own rather than none.
  if (detail.empty()) return head + "\n";
  if (width >= head_width + 2 + 24) return fmt::format("{}  {}\n", head, cut_to_width(detail, width - head_width - 2));
  return fmt::format("{}\n          {}\n", head, cut_to_width(detail, width - 10));
}

std::string result_text(const Task& task) {
  if (!task.result) return {};
  const auto value = json::parse(*task.result);
  const std::string* text = value ? value->as_string() : nullptr;
  if (text == nullptr) return *task.result + "\n";
  return text->empty() || text->ends_with('\n') ? *text : *text + "\n";
}

}  // namespace drover::cli
