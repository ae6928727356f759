#include "store/redis/restore_arguments.h"

#include <fmt/format.h>

#include "core/lane.h"
#include "core/question_json.h"
#include "store/log_piece.h"
#include "store/redis/inner_result.h"
#include "store/redis/question_text.h"
#include "store/redis/record_text.h"
#include "store/redis/run_text.h"

namespace drover::redis {
namespace {

void put_or_false(Pack& pack, const std::optional<std::string>& text) {
  if (text) {
    pack.put(*text);
  } else {
    pack.put(false);
  }
}

// worker|started|ended|run|generation|outcome|rest
std::string run_line(const RunSummary& run) {
  const RunEnd end{.outcome = run.outcome,
                   .error = run.error,
                   .exit_code = run.exit_code,
                   .note = run.note,
                   .usage = run.usage,
                   .change = run.change,
                   .evidence = run.evidence,
                   .settlement = run.settlement};
  return fmt::format("{}|{}|{}|{}", run.worker_id, time_text(run.started_at), time_text(run.ended_at.value_or(Time())),
                     run_end_text(end, run.run, run.generation));
}

// What a task keeps beside its state, and the marks that say so.
struct Kept {
  std::string marks;
  std::string last_run;
  std::optional<std::string> earlier_runs;
  std::string inner_result;
  std::optional<std::string> result;
  std::optional<std::string> progress;
};

Kept kept_of(const DumpedTask& dumped) {
  Kept kept;
  const Task& task = dumped.record.task;
  for (std::size_t i = 0; i + 1 < dumped.runs.size(); ++i) {
    kept.earlier_runs = kept.earlier_runs.value_or("") + run_line(dumped.runs[i]) + "\n";
  }
  if (!dumped.runs.empty()) kept.last_run = run_line(dumped.runs.back());
  const bool is_inner = task.result && task.result->size() <= kInnerResultBytesMax;
  if (is_inner) kept.inner_result = *task.result;
  if (task.result && !is_inner) kept.result = task.result;
  if (task.progress) kept.progress = to_text(*task.progress);
  if (!kept.last_run.empty()) kept.marks += 'e';
  if (kept.earlier_runs) kept.marks += 'h';
  if (is_inner) kept.marks += 's';
  if (kept.result) kept.marks += 'r';
  if (task.checkpoint) kept.marks += 'c';
  if (kept.progress) kept.marks += 'p';
  if (kept.marks.empty()) kept.marks = "~";
  return kept;
}

std::size_t bytes_of(const DumpedTask& dumped, const std::string& body) {
  const Task& task = dumped.record.task;
  std::size_t bytes = body.size() + task.result.value_or("").size() + task.checkpoint.value_or("").size();
  for (const LogRecord& piece : dumped.log) bytes += piece.text.size();
  return bytes;
}

void put_log(Pack& pack, const DumpedTask& dumped) {
  const auto totals = log_totals(dumped);
  Pack fields;
  std::int64_t fields_n = 0;
  const auto field = [&](const std::string& name, std::int64_t value) {
    fields.put(name).put(std::to_string(value));
    ++fields_n;
  };
  for (const auto& [run, total] : totals) {
    field(fmt::format("tail:{}", run), total.tail_number);
    field(fmt::format("head_bytes:{}", run), total.head_bytes);
    field(fmt::format("tail_bytes:{}", run), total.tail_bytes);
    field(fmt::format("left_out:{}", run), total.left_out_bytes);
  }
  if (!dumped.log.empty()) field("last", dumped.log.back().seq);
  pack.put(static_cast<std::int64_t>(dumped.log.size())).put(fields_n);
  pack.put(static_cast<std::int64_t>(dumped.questions.size()));
  for (const LogRecord& piece : dumped.log) {
    pack.put(std::to_string(piece.seq)).put(std::to_string(piece.run)).put(time_text(piece.at));
    pack.put(std::to_string(static_cast<int>(piece.stream))).put(piece.text);
  }
  pack.put(fields);
}

void put_task(Pack& pack, const DumpedTask& dumped) {
  const TaskRecord& record = dumped.record;
  const Task& task = record.task;
  const std::string body = to_body(task);
  const Kept kept = kept_of(dumped);
  pack.put(task.id.to_string()).put(std::to_string(record.place)).put(std::to_string(bytes_of(dumped, body)));
  pack.put(kept.marks).put(to_said(record, lane_name(task))).put(kept.last_run).put(kept.inner_result).put(body);
  for (const std::optional<std::string>* text : {&kept.result, &task.checkpoint, &kept.progress, &kept.earlier_runs}) {
    put_or_false(pack, *text);
  }
  put_or_false(pack, task.finished_at ? std::optional(time_text(*task.finished_at)) : std::nullopt);
  put_log(pack, dumped);
  for (const Question& question : dumped.questions) {
    pack.put(question.id.to_string()).put(question_head(question)).put(to_json(question));
  }
}

// "name|task|queue|rank|owner|type|cost|gates|state|run|generation|data", as parse_event reads it.
std::string restored_event(const Event& event) {
  if (event.task.is_nil()) return fmt::format("{}|||||||||||{}", event.name, event.data);
  return fmt::format("{}|{}|{}|0|{}|{}|1||{}|{}|{}|{}", event.name, event.task.to_string(), event.queue, event.owner,
                     event.type, name_of(event.state), event.run, event.generation, event.data);
}

}  // namespace

Pack packed_tasks(std::span<const DumpedTask> tasks) {
  Pack pack;
  for (const DumpedTask& task : tasks) put_task(pack, task);
  return pack;
}

Pack packed_events(std::span<const Event> events) {
  Pack pack;
  for (const Event& event : events) {
    pack.put(std::to_string(event.seq)).put(time_text(event.at)).put(restored_event(event));
  }
  return pack;
}

}  // namespace drover::redis
