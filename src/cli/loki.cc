#include "cli/loki.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <fstream>
#include <set>

#include "base/sha256.h"
#include "base/text.h"
#include "base/try.h"
#include "cli/files.h"

namespace drover::cli {
namespace {

using json::Value;

constexpr ReadLimit kFileLimit{64 << 20, ErrorCode::kPayloadTooLarge};
constexpr std::array<std::string_view, 6> kFiles{"pending", "in-progress", "completed",
                                                 "failed",  "dead-letter", "cancelled"};
constexpr std::array<std::string_view, 2> kOpenFiles{"pending", "in-progress"};
constexpr std::string_view kRequestPrefix = "loki:";
constexpr int kPrioritySum = 10;  // theirs and ours: 10 is their first, 0 ours

std::unexpected<Error> invalid(std::string what) {
  return drover::fail(ErrorCode::kInvalidArgument, std::move(what));
}

const Value::Array* tasks_in(const Value& file) {
  if (const Value::Array* list = file.as_array()) return list;
  const Value* tasks = file.find("tasks");
  return tasks != nullptr ? tasks->as_array() : nullptr;
}

std::optional<std::string> text_at(const Value& task, std::string_view key) {
  const Value* value = task.find(key);
  const std::string* text = value != nullptr ? value->as_string() : nullptr;
  return text != nullptr ? std::optional(*text) : std::nullopt;
}

std::optional<std::int64_t> number_at(const Value& task, std::string_view key) {
  const Value* value = task.find(key);
  return value != nullptr ? value->as_int() : std::nullopt;
}

// In the order of the files, each id once.
Result<std::vector<std::pair<std::string, const Value*>>> open_tasks(const LokiFolder& loki) {
  std::vector<std::pair<std::string, const Value*>> found;
  std::set<std::string> seen;
  for (const std::string_view name : kOpenFiles) {
    const auto file = loki.files.find(std::string(name));
    if (file == loki.files.end()) continue;
    for (const Value& task : *tasks_in(file->second)) {
      const auto id = text_at(task, "id");
      if (!id) return invalid(fmt::format("{}.json: a task without id", name));
      if (seen.insert(*id).second) found.emplace_back(*id, &task);
    }
  }
  return found;
}

std::set<std::string> completed_ids(const LokiFolder& loki) {
  std::set<std::string> ids;
  const auto file = loki.files.find("completed");
  if (file == loki.files.end()) return ids;
  for (const Value& task : *tasks_in(file->second)) {
    if (const auto id = text_at(task, "id")) ids.insert(*id);
  }
  return ids;
}

void take_numbers(const Value& task, TaskSpec& spec) {
  if (const auto priority = number_at(task, "priority")) {
    spec.priority = static_cast<int>(std::clamp<std::int64_t>(kPrioritySum - *priority, 0, kPriorityMax));
  }
  if (const auto retries = number_at(task, "maxRetries"); retries && *retries > 0) {
    spec.max_attempts = static_cast<int>(std::min<std::int64_t>(*retries, 1'000'000));
  }
  if (const auto seconds = number_at(task, "timeout"); seconds && *seconds > 0 && *seconds <= 30 * 86'400) {
    spec.timeout = Millis{*seconds * 1'000};
  }
  if (const auto seconds = number_at(task, "backoffSeconds"); seconds && *seconds > 0 && *seconds <= 3'600) {
    spec.retry = RetryPolicy{.base = Millis{*seconds * 1'000}, .cap = Millis{3'600'000}};
  }
}

// The runner's own tasks have words instead of a payload.
void take_content(const Value& task, TaskSpec& spec) {
  if (const Value* payload = task.find("payload"); payload != nullptr && !payload->is_null()) {
    spec.payload = json::dump(*payload);
    return;
  }
  std::string words = text_at(task, "title").value_or("");
  if (const auto more = text_at(task, "description")) words += (words.empty() ? "" : "\n\n") + *more;
  if (!words.empty()) spec.prompt = words;
}

struct Index {
  const std::map<std::string, TaskId>& known;
  std::set<std::string> added;
  std::set<std::string> completed;
};

Status take_dependencies(const std::string& id, const Value& task, const Index& index, TaskSpec& spec) {
  const Value* list = task.find("dependencies");
  const Value::Array* parents = list != nullptr ? list->as_array() : nullptr;
  if (parents == nullptr) return {};
  for (const Value& parent : *parents) {
    const std::string* name = parent.as_string();
    if (name == nullptr) return invalid(fmt::format("task {}: a dependency is not an id", id));
    if (const auto stored = index.known.find(*name); stored != index.known.end()) {
      spec.depends_on.emplace_back(stored->second);
    } else if (index.added.contains(*name)) {
      spec.depends_on.emplace_back(loki_request_id(*name));
    } else if (!index.completed.contains(*name)) {
      return invalid(fmt::format("task {} depends on {}, which neither waits nor is completed", quoted_excerpt(id),
                                 quoted_excerpt(*name)));
    }
  }
  return {};
}

// ---- from the store

std::string loki_id(const Task& task) {
  const bool ours = !task.request_id || !task.request_id->starts_with(kRequestPrefix);
  return ours ? task.id.to_string() : task.request_id->substr(kRequestPrefix.size());
}

std::string_view file_of(TaskState state) {
  switch (state) {
    case TaskState::kBlocked:
    case TaskState::kScheduled:
    case TaskState::kPending:
    case TaskState::kStalled:
      return "pending";
    case TaskState::kRunning:
      return "in-progress";
    case TaskState::kCompleted:
      return "completed";
    case TaskState::kFailed:
      return "dead-letter";
    case TaskState::kCancelled:
      return "cancelled";
  }
  return "pending";
}

Value maybe_time(const std::optional<Time>& time) {
  return time ? Value(format_time(*time)) : Value();
}

Value result_of(const Task& task) {
  if (task.state != TaskState::kCompleted && task.state != TaskState::kFailed) return {};
  Value::Object result{{"status", task.state == TaskState::kCompleted ? "success" : "failed"}};
  const auto output = task.result ? json::parse(*task.result) : Result<Value>(Value());
  if (output) {
    result.emplace_back("output", *output);
    if (const Value* report = output->find("decision_report")) result.emplace_back("decisionReport", *report);
  }
  return result;
}

Value to_loki(const Task& task, const std::map<TaskId, std::string>& ids) {
  Value::Array dependencies;
  for (const TaskId& parent : task.depends_on) {
    const auto known = ids.find(parent);
    dependencies.emplace_back(known != ids.end() ? known->second : parent.to_string());
  }
  const auto payload = task.payload ? json::parse(*task.payload) : Result<Value>(Value());
  const bool running = task.state == TaskState::kRunning;
  const bool cancelled = task.state == TaskState::kCancelled;
  Value::Object out{{"id", loki_id(task)},
                    {"type", task.type},
                    {"priority", kPrioritySum - task.priority},
                    {"dependencies", std::move(dependencies)},
                    {"payload", payload ? *payload : Value()},
                    {"createdAt", format_time(task.created_at)},
                    {"claimedBy", running && task.worker_id ? Value(*task.worker_id) : Value()},
                    {"claimedAt", running ? maybe_time(task.started_at) : Value()},
                    {"timeout", std::max<std::int64_t>(1, task.timeout.count() / 1'000)},
                    {"retries", task.attempts},
                    {"maxRetries", task.max_attempts},
                    {"backoffSeconds", std::max<std::int64_t>(1, task.retry.base.count() / 1'000)},
                    {"lastError", task.error ? Value(task.error->message) : Value()},
                    {"completedAt", maybe_time(task.finished_at)},
                    {"result", result_of(task)}};
  if (task.prompt) out.emplace_back("description", *task.prompt);
  if (cancelled) out.emplace_back("cancelReason", task.cancel_reason.value_or(""));
  return out;
}

// The file with other tasks in it.
Value with_tasks(const Value& file, Value::Array tasks) {
  if (file.as_array() != nullptr) return tasks;
  Value::Object members = file.as_object() != nullptr ? *file.as_object() : Value::Object{};
  const auto old = std::ranges::find(members, "tasks", &Value::Member::first);
  if (old != members.end()) {
    old->second = std::move(tasks);
  } else {
    members.emplace_back("tasks", std::move(tasks));
  }
  return members;
}

}  // namespace

std::string loki_request_id(const std::string& id) {
  std::string request = std::string(kRequestPrefix) + id;
  return is_name(request) ? request : std::string(kRequestPrefix) + sha256_hex(id);
}

Result<LokiFolder> read_loki(const std::filesystem::path& folder) {
  std::error_code error;
  if (!std::filesystem::is_directory(folder, error)) return invalid(fmt::format("{} is not a folder", folder.string()));
  LokiFolder loki;
  for (const std::string_view name : kFiles) {
    const std::filesystem::path path = folder / fmt::format("{}.json", name);
    if (!std::filesystem::exists(path, error)) continue;
    const auto text = TRY(read_input(path.string(), kFileLimit));
    auto value = json::parse(text);
    if (!value) return drover::fail(value.error().code, fmt::format("{}: {}", path.string(), value.error().message));
    if (tasks_in(*value) == nullptr) return invalid(fmt::format("{}: expected a list of tasks", path.string()));
    loki.files.emplace(name, *std::move(value));
  }
  return loki;
}

Status write_loki(const std::filesystem::path& folder, const LokiFolder& loki) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  for (const auto& [name, value] : loki.files) {
    const std::filesystem::path path = folder / (name + ".json");
    const std::filesystem::path part = folder / (name + ".json.part");
    std::ofstream out(part, std::ios::binary | std::ios::trunc);
    out << json::dump_pretty(value) << '\n';
    out.close();
    if (out) std::filesystem::rename(part, path, error);
    if (!out || error) return invalid(fmt::format("cannot write {}", path.string()));
  }
  return {};
}

Result<std::vector<std::string>> open_ids(const LokiFolder& loki) {
  const auto tasks = TRY(open_tasks(loki));
  std::vector<std::string> ids;
  for (const auto& [id, task] : tasks) ids.push_back(id);
  return ids;
}

Result<std::vector<TaskSpec>> specs_from_loki(const LokiFolder& loki, const std::map<std::string, TaskId>& known) {
  const auto tasks = TRY(open_tasks(loki));
  Index index{.known = known, .added = {}, .completed = completed_ids(loki)};
  for (const auto& [id, task] : tasks) index.added.insert(id);
  std::vector<TaskSpec> specs;
  for (const auto& [id, task] : tasks) {
    if (known.contains(id)) continue;
    TaskSpec spec{.ref = loki_request_id(id), .type = text_at(*task, "type").value_or("task")};
    spec.request_id = loki_request_id(id);
    spec.source = "loki";
    take_numbers(*task, spec);
    take_content(*task, spec);
    TRY(take_dependencies(id, *task, index, spec));
    specs.push_back(std::move(spec));
  }
  return specs;
}

void put_into_loki(LokiFolder& loki, const std::vector<Task>& tasks) {
  std::map<TaskId, std::string> ids;
  std::set<std::string> ours;
  for (const Task& task : tasks) {
    ids.emplace(task.id, loki_id(task));
    ours.insert(loki_id(task));
  }
  std::map<std::string, Value::Array> lists;
  for (const auto& [name, file] : loki.files) {
    for (const Value& task : *tasks_in(file)) {
      if (!ours.contains(text_at(task, "id").value_or(""))) lists[name].push_back(task);
    }
  }
  for (const Task& task : tasks) lists[std::string(file_of(task.state))].push_back(to_loki(task, ids));
  for (const std::string_view name : kFiles) {
    Value& file = loki.files[std::string(name)];
    file = with_tasks(file, std::move(lists[std::string(name)]));
  }
}

}  // namespace drover::cli
