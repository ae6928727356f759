#include "cli/log_follow.h"

#include <fmt/format.h>

#include "base/text.h"
#include "base/try.h"
#include "cli/project.h"
#include "cli/watch.h"

namespace drover::cli {
namespace {

constexpr int kPageRecords = 200;

class LogReader {
 public:
  LogReader(TaskQueue& queue, const LogFollowOptions& options, Context& context,
            const std::function<void(const LogRecord&)>& print)
      : queue_(queue), options_(options), context_(context), print_(print) {}

  // Hands on what came since the last call.
  Status read_new() {
    while (context_.out.open()) {
      const LogPage page = TRY(queue_.log(options_.id, after_, kPageRecords));
      for (const LogRecord& record : page.records) take(record);
      if (page.records.size() < static_cast<std::size_t>(kPageRecords)) return {};
    }
    return {};
  }

 private:
  void take(const LogRecord& record) {
    after_ = record.seq;
    if (options_.run && record.run != *options_.run) return;
    const bool is_for_people = options_.format != Format::kJson;
    if (is_for_people && record.left_out_before > 0)
      context_.say(fmt::format("… {} left out …", counted(record.left_out_before, "byte")));
    if (is_for_people && context_.out.look().terminal && run_ != 0 && record.run != run_)
      context_.say(fmt::format("run {}", record.run));
    run_ = record.run;
    print_(record);
  }

  TaskQueue& queue_;
  const LogFollowOptions& options_;
  Context& context_;
  const std::function<void(const LogRecord&)>& print_;
  std::int64_t after_ = 0;
  int run_ = 0;
};

// The runs of a task are numbered without gaps.
Status check_run(const Task& task, const LogFollowOptions& options) {
  if (!options.run || *options.run <= task.run) return {};
  const std::string has = task.run == 0 ? "it has not run yet" : fmt::format("its latest is run {}", task.run);
  return drover::fail(ErrorCode::kNotFound,
                      fmt::format("there is no run {} of task {}: {}", *options.run, task.id.to_string(), has));
}

}  // namespace

void define(Verb& verb, LogFollowOptions& options) {
  verb.task_id(&options.id);
  verb.flag("-f,--follow", &options.follow, true, "keep printing until the task ends");
  verb.value("--run", "N", &options.run, integer_between({1, 1'000'000'000}), "only this run");
  verb.json(&options.format, "print one JSON object per line");
}

Status follow_log(const LogFollowOptions& options, Context& context,
                  const std::function<void(const LogRecord&)>& print) {
  const auto opened = TRY(open_chosen_store(context));
  TaskQueue& queue = opened->queue();
  LogReader reader(queue, options, context, print);
  const Interrupts interrupts;
  const auto end = watch(queue, std::nullopt, [&]() -> Result<Seen> {
    // The state first: a task that has ended writes no more.
    const Task task = TRY(queue.get(options.id));
    TRY(reader.read_new());
    const bool done = !options.follow || is_terminal(task.state) || !context.out.open();
    if (!done) return Seen::kNotYet;
    TRY(check_run(task, options));
    return Seen::kDone;
  });
  return end ? Status() : std::unexpected(end.error());
}

}  // namespace drover::cli
