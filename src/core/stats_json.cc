#include "core/stats_json.h"

#include "base/json.h"
#include "core/alert.h"

namespace drover {

namespace {

using json::Writer;

void write_tasks(Writer& out, const std::array<std::int64_t, kTaskStateCount>& tasks) {
  out.key("tasks").begin_object();
  for (std::size_t i = 0; i < tasks.size(); ++i) out.key(name_of(static_cast<TaskState>(i))).number(tasks[i]);
  out.end_object();
}

void write_rates(Writer& out, const Rates& rates) {
  out.key("rates").begin_object().key("enqueued").number(rates.enqueued).key("started").number(rates.started);
  out.key("completed").number(rates.completed).key("failed").number(rates.failed);
  out.key("retried").number(rates.retried).end_object();
}

void write_millis(Writer& out, std::string_view name, const std::optional<Millis>& time) {
  out.key(name);
  time ? out.number(time->count()) : out.null();
}

void write_durations(Writer& out, std::string_view name, const Durations& durations) {
  out.key(name).begin_object();
  write_millis(out, "p50_ms", durations.p50);
  write_millis(out, "p95_ms", durations.p95);
  out.end_object();
}

void write_queue(Writer& out, const QueueStats& queue) {
  out.begin_object().key("name").string(queue.name);
  write_tasks(out, queue.tasks);
  out.key("waiting_since");
  queue.waiting_since ? out.string(format_time(*queue.waiting_since)) : out.null();
  out.key("workers").number(queue.workers).key("free_slots").number(queue.free_slots);
  write_rates(out, queue.rates);
  write_durations(out, "waits", queue.waits);
  write_durations(out, "runs", queue.runs);
  out.end_object();
}

void write_questions(Writer& out, const QuestionTotals& questions) {
  out.key("questions").begin_object();
  for (int i = 0; i < kQuestionStateCount; ++i) {
    const auto state = static_cast<QuestionState>(i);
    out.key(name_of(state)).number(questions.in(state));
  }
  out.key("tasks_waiting").number(questions.tasks_waiting).key("oldest_open_at");
  questions.oldest_open_at ? out.string(format_time(*questions.oldest_open_at)) : out.null();
  out.end_object();
}

}  // namespace

std::string to_json(const Stats& stats) {
  Writer out;
  out.begin_object().key("at").string(format_time(stats.at));
  write_tasks(out, stats.tasks);
  out.key("window_ms").number(stats.window.count());
  write_rates(out, stats.rates);
  write_durations(out, "waits", stats.waits);
  write_durations(out, "runs", stats.runs);
  out.key("queues").begin_array();
  for (const QueueStats& queue : stats.queues) write_queue(out, queue);
  out.end_array().key("workers").begin_object().key("working").number(stats.workers.working);
  out.key("draining").number(stats.workers.draining).key("silent").number(stats.workers.silent);
  out.key("slots").number(stats.workers.slots).key("running").number(stats.workers.running);
  out.key("workspace_bytes").number(stats.workers.workspace_bytes).end_object();
  out.key("permits").begin_object().key("in_use").number(stats.permits.in_use);
  out.key("permits").number(stats.permits.permits).key("gates").number(stats.permits.gates).end_object();
  write_questions(out, stats.questions);
  out.key("alerts").begin_array();
  for (const Alert& alert : stats.alerts) out.raw(to_json(alert));
  out.end_array().end_object();
  return std::move(out).take();
}

}  // namespace drover
