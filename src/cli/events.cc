// drover events: what happened, by cursor, and what happens next.
#include "cli/project.h"
#include "cli/task_view.h"
#include "cli/verbs.h"
#include "cli/watch.h"
#include "core/task_json.h"

namespace drover::cli {
namespace {

constexpr int kPageEvents = 500;

class EventPrinter {
 public:
  EventPrinter(TaskQueue& queue, const EventsOptions& options, Output& out, std::int64_t after)
      : queue_(queue), options_(options), out_(out), after_(after) {}

  // Prints what came since the last call; kDone when the limit is reached or nobody reads any more.
  Result<Seen> print_new() {
    while (true) {
      const auto page = queue_.events(after_, kPageEvents);
      if (!page) return std::unexpected(page.error());
      for (const Event& event : *page) {
        if (enough()) return Seen::kDone;
        out_.write(options_.format == Format::kJson ? to_json(event) + "\n" : event_line(event, out_.look()));
        after_ = event.seq;
        ++printed_;
      }
      if (enough()) return Seen::kDone;
      if (page->size() < static_cast<std::size_t>(kPageEvents)) return Seen::kNotYet;
    }
  }

 private:
  [[nodiscard]] bool enough() const { return !out_.open() || (options_.limit && printed_ >= *options_.limit); }

  TaskQueue& queue_;
  const EventsOptions& options_;
  Output& out_;
  std::int64_t after_;
  int printed_ = 0;
};

}  // namespace

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
  EventPrinter printer(queue, options, context.out, after);
  const Interrupts interrupts;
  const auto end = watch(queue, std::nullopt, [&]() -> Result<Seen> {
    auto seen = printer.print_new();
    return seen && !options.follow ? Seen::kDone : seen;
  });
  return end ? kExitOk : context.fail(end.error());
}

}  // namespace drover::cli
