// drover events: what happened, by cursor, and what happens next.
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "base/try.h"
#include "cli/project.h"
#include "cli/task_view.h"
#include "cli/verb.h"
#include "cli/watch.h"
#include "core/event_cursor.h"
#include "core/event_filter.h"
#include "core/task_json.h"

namespace drover::cli {
namespace {

struct EventsOptions {
  std::optional<std::int64_t> after;  // unset: from the first one, or, following, from now
  std::optional<int> limit;
  EventFilter filter;
  bool follow = false;
  Format format = Format::kAuto;
};

void define(Verb& verb, EventsOptions& options) {
  verb.flag("-f,--follow", &options.follow, true, "keep printing new events; without --after, only those");
  const auto read_seq = [](std::string_view text) {
    return read_integer(text, {0, std::numeric_limits<std::int64_t>::max()});
  };
  verb.value("--after", "SEQ", &options.after, read_seq, "only events after this number; 0 is from the first");
  verb.value("--limit", "N", &options.limit, integer_between({1, 1'000'000'000}), "show at most N");
  EventFilter& filter = options.filter;
  verb.task("--task", "ID", &filter.task, "only of this task");
  verb.value("--type", "T", &filter.type, read_name, "only of tasks of this type");
  verb.value("--queue", "Q", &filter.queue, read_name, "only of tasks in this queue");
  verb.value("--owner", "O", &filter.owner, read_name, "only of tasks of this owner");
  verb.list("--name", "NAME", &filter.names, parse_event_name,
            "only events of this name: task.failed, or failed for short");
  verb.json(&options.format, "print one JSON object per line");
}

constexpr int kPageEvents = 500;

// A number that was given and never read may be a mistake, or of another store.
std::string beyond_line(const EventGap& gap) {
  return fmt::format("the newest event is {}; there is no event {}", gap.seq, gap.after);
}

class EventPrinter {
 public:
  EventPrinter(TaskQueue& queue, const EventsOptions& options, Context& context, std::int64_t after)
      : queue_(queue), options_(options), context_(context), cursor_(after) {}

  // Prints what came since the last call; kDone when the limit is reached or nobody reads any more.
  Result<Seen> print_new() {
    for (bool has_more = true; has_more;) {
      const auto news = TRY(cursor_.next(queue_, kPageEvents));
      if (const auto& gap = news.went_back) print(*gap);
      for (const Event& event : news.events) {
        if (enough()) return Seen::kDone;
        if (options_.filter.admits(event)) print(event);
      }
      if (enough()) return Seen::kDone;
      has_more = news.has_more;
    }
    return Seen::kNotYet;
  }

 private:
  [[nodiscard]] bool enough() const { return !context_.out.open() || (options_.limit && printed_ >= *options_.limit); }

  void print(const Event& event) {
    Output& out = context_.out;
    out.write(options_.format == Format::kJson ? to_json(event) + "\n" : event_line(event, out.look()));
    ++printed_;
  }

  // Programs find it among the events; people beside them.
  void print(const EventGap& gap) {
    if (options_.format == Format::kJson) context_.out.write(to_json(gap) + "\n");
    const bool was_read = printed_ > 0 || gap.after != options_.after;
    context_.say(was_read ? gap_line(gap) : beyond_line(gap));
  }

  TaskQueue& queue_;
  const EventsOptions& options_;
  Context& context_;
  EventCursor cursor_;
  int printed_ = 0;
};

int run(const EventsOptions& options, Context& context) {
  const auto opened = open_chosen_store(context);
  if (!opened) return context.fail(opened.error());
  TaskQueue& queue = (*opened)->queue();
  std::int64_t after = options.after.value_or(0);
  if (options.follow && !options.after) {
    const auto last = queue.last_event_seq();
    if (!last) return context.fail(last.error());
    after = *last;
  }
  EventPrinter printer(queue, options, context, after);
  const Interrupts interrupts;
  bool has_begun = false;
  const auto end = watch(queue, std::nullopt, [&]() -> Result<Seen> {
    auto seen = printer.print_new();
    if (!options.follow) return seen ? Seen::kDone : seen;
    // Who follows waits for a store that goes away, and hears what became of it.
    const bool is_away = !seen && seen.error().code == ErrorCode::kStoreUnavailable;
    if (is_away && has_begun) return Seen::kNotYet;
    has_begun = has_begun || seen;
    return seen;
  });
  return end ? kExitOk : context.fail(end.error());
}

}  // namespace

void add_events(Verbs& verbs) {
  verbs.add<EventsOptions>(
      {.name = "events",
       .summary = "Print what happened, oldest first",
       .footer =
           R"(Piped, it prints tab-separated lines: seq, time, name, task id, type, queue, owner, state, run, data (JSON).

Examples:
  drover events -f
  drover events --task 0197b7d4-5c61 --name failed --name retrying
  drover events --after 1200 --json)"},
      define, run);
}

}  // namespace drover::cli
