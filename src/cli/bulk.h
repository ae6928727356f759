// What verbs share that take many tasks: which tasks, a dry run, the question, the progress bar, the report.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/context.h"
#include "cli/options.h"
#include "cli/verb.h"
#include "drover/bulk.h"
#include "engine/open.h"

namespace drover::cli {

// Tasks by id, or by filter.
struct BulkChoice {
  std::vector<TaskId> ids;
  TaskFilter filter;
  bool all = false;  // whatever the filter leaves open is meant
  bool yes = false;
  bool dry_run = false;

  [[nodiscard]] bool is_one_task() const { return ids.size() == 1; }
};

// How the verb speaks of what it does.
struct BulkWords {
  std::string_view will;  // "retry 3 tasks"
  std::string_view did;   // "retried 3 tasks"
};

// ID..., --all, --yes and --dry-run; `all` says what --all means. The verb brings the options of its filter.
void define_bulk_choice(Verb& verb, BulkChoice* choice, const std::string& all);
// The filter that `drover list` has. `tag` is how the verb calls that option.
void define_task_filter(Verb& verb, TaskFilter* filter, const std::string& tag = "--tag");

// Counts, asks, starts the operation, shows how far it has come, and reports its end. `order` lacks which tasks.
[[nodiscard]] int run_bulk(OpenedQueue& opened, BulkOrder order, const BulkChoice& choice, const BulkWords& words,
                           Format format, Context& context);
// Waits for the end of one that runs, with a progress bar, and reports it. If the store is here, this process helps.
[[nodiscard]] int await_bulk(OpenedQueue& opened, BulkOperation operation, const BulkWords& words, Format format,
                             Context& context);
// What became of a single task, in the form of a report on many.
[[nodiscard]] int report_one(const TaskId& id, const Status& outcome, const BulkWords& words, Format format,
                             Context& context);
[[nodiscard]] BulkWords words_of(BulkVerb verb);

}  // namespace drover::cli
