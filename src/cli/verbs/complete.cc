// drover complete: the names that completion scripts ask for.
#include <set>

#include "base/try.h"
#include "cli/project.h"
#include "cli/verb.h"

namespace drover::cli {
namespace {

// What completion asks for by name; the store knows it, except for states and classes of errors.
enum class StoreWord : std::uint8_t {
  kTask,
  kType,
  kQueue,
  kOwner,
  kTag,
  kGate,
  kWorker,
  kToken,
  kState,
  kClass,
  kFingerprint,
};

struct CompleteOptions {
  StoreWord what = StoreWord::kTask;
};

void define(Verb& verb, CompleteOptions& options) {
  verb.choice("task|type|queue|owner|tag|gate|worker|token|state|class|fingerprint", "", &options.what,
              "a kind of name")
      .required();
}

constexpr int kNewestTasks = 200;

using Names = Result<std::set<std::string>>;

template <class Collect>
Names names_of_tasks(TaskQueue& queue, Collect collect) {
  const auto page = TRY(queue.list({}, kNewestTasks, std::nullopt));
  std::set<std::string> names;
  for (const Task& task : page.tasks) collect(task, names);
  return names;
}

template <class Enum>
Names names_of_all(std::size_t count) {
  std::set<std::string> names;
  for (std::size_t i = 0; i < count; ++i) names.emplace(name_of(static_cast<Enum>(i)));
  return names;
}

template <class T, class Project>
Names names_of(const Result<std::vector<T>>& items, Project project) {
  if (!items) return std::unexpected(items.error());
  std::set<std::string> names;
  for (const T& item : *items) names.insert(item.*project);
  return names;
}

Names names_of_tokens(OpenedQueue& opened) {
  const auto tokens = TRY(opened.administration().tokens());
  std::set<std::string> names;
  for (const TokenInfo& token : tokens) {
    if (!token.revoked_at) names.insert(token.id);
  }
  return names;
}

Names names_in_store(OpenedQueue& opened, StoreWord what) {
  TaskQueue& queue = opened.queue();
  switch (what) {
    case StoreWord::kTask:
      return names_of_tasks(queue, [](const Task& task, auto& names) { names.insert(task.id.to_string()); });
    case StoreWord::kType:
      return names_of_tasks(queue, [](const Task& task, auto& names) { names.insert(task.type); });
    case StoreWord::kOwner:
      return names_of_tasks(queue, [](const Task& task, auto& names) { names.insert(task.owner); });
    case StoreWord::kTag:
      return names_of_tasks(queue,
                            [](const Task& task, auto& names) { names.insert(task.tags.begin(), task.tags.end()); });
    case StoreWord::kQueue:
      return names_of(queue.queues(), &QueueStatus::name);
    case StoreWord::kGate:
      return names_of(queue.gates(), &GateStatus::name);
    case StoreWord::kWorker:
      return names_of(queue.workers(), &WorkerInfo::id);
    case StoreWord::kToken:
      return names_of_tokens(opened);
    case StoreWord::kFingerprint:
      return names_of(queue.error_groups({}), &ErrorGroup::fingerprint);
    case StoreWord::kState:
    case StoreWord::kClass:
      break;
  }
  return {};
}

Names names(StoreWord what, const Context& context) {
  if (what == StoreWord::kState) return names_of_all<TaskState>(kTaskStateCount);
  if (what == StoreWord::kClass) return names_of_all<ErrorClass>(kErrorClassCount);
  const auto opened = TRY(open_chosen_store(context));
  return names_in_store(*opened, what);
}

int run(const CompleteOptions& options, Context& context) {
  const Names found = names(options.what, context);
  if (!found) return context.fail(found.error());
  for (const std::string& name : *found) {
    if (!name.empty()) context.out.line(name);  // an error beyond the first kinds has no fingerprint
  }
  return kExitOk;
}

}  // namespace

void add_complete(Verbs& verbs) {
  verbs.add<CompleteOptions>(
      {.name = "complete",
       .summary = "Print names that the store knows, for completion",
       .footer =
           R"(Completion scripts call it. For tasks, types, owners and tags, it searches only the newest 200 tasks. If the store
cannot be opened, it prints no names and fails.

Examples:
  drover complete queue)"},
      define, run);
}

}  // namespace drover::cli
