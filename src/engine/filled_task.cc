#include "engine/filled_task.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "base/try.h"
#include "core/parent_template.h"
#include "engine/spec.h"

namespace drover {
namespace {

std::unexpected<Error> no_result(std::string why) {
  return fail(ErrorCode::kInvalidPayload, std::move(why));
}

// Reads of each parent only what a template asks for.
class Parents {
 public:
  static Result<Parents> read(Store& store, const Task& task) {
    auto heads = TRY(store.read(task.depends_on, Parts::kHead));
    return Parents(store, task.depends_on, std::move(heads));
  }

  Result<JsonText> result_of(std::string_view ref_or_id) {
    const auto index = TRY(find(ref_or_id));
    if (!heads_[index]) return no_result(fmt::format("parent {} is gone: retention deleted it", ref_or_id));
    auto whole = store_.read(std::span(&ids_[index], 1), Parts::kAll);
    if (!whole) {
      failed_ = whole.error();
      return std::unexpected(whole.error());
    }
    const std::optional<TaskRecord>& parent = whole->front();
    if (!parent) return no_result(fmt::format("parent {} is gone: retention deleted it", ref_or_id));
    if (parent->task.result) return *parent->task.result;
    return no_result(fmt::format("parent {} has no result: it is {}", ref_or_id, name_of(parent->task.state)));
  }
  // The store could not be read: that says nothing of the task.
  [[nodiscard]] const std::optional<Error>& failed() const { return failed_; }

 private:
  Parents(Store& store, std::vector<TaskId> ids, std::vector<std::optional<TaskRecord>> heads)
      : store_(store), ids_(std::move(ids)), heads_(std::move(heads)) {}

  [[nodiscard]] Result<std::size_t> find(std::string_view ref_or_id) const {
    std::optional<std::size_t> found;
    for (std::size_t i = 0; i < ids_.size(); ++i) {
      if (ids_[i].to_string() == ref_or_id) return i;
      const std::optional<TaskRecord>& head = heads_[i];
      if (!head || head->task.ref != ref_or_id) continue;
      if (found) return no_result(fmt::format("several parents have the ref {}", quoted_excerpt(ref_or_id)));
      found = i;
    }
    if (!found) return no_result(fmt::format("the task has no parent {}", quoted_excerpt(ref_or_id)));
    return *found;
  }

  Store& store_;
  std::vector<TaskId> ids_;
  std::vector<std::optional<TaskRecord>> heads_;
  std::optional<Error> failed_;
};

Status fill(Task& task, Parents& parents, const Policy& policy) {
  const ParentLookup lookup = [&](std::string_view ref_or_id) { return parents.result_of(ref_or_id); };
  const auto bytes_max = static_cast<std::size_t>(policy.limits.payload_bytes);
  if (task.prompt) task.prompt = TRY(fill_text(*task.prompt, lookup, bytes_max));
  if (task.payload) task.payload = TRY(fill_json(*task.payload, lookup, bytes_max));
  return check_stored(task, policy);
}

}  // namespace

Result<Task> filled_task(Store& store, const Task& task, const Policy& policy) {
  auto parents = TRY(Parents::read(store, task));
  Task filled = task;
  const Status status = fill(filled, parents, policy);
  if (const std::optional<Error>& failed = parents.failed()) return std::unexpected(*failed);
  if (!status) return std::unexpected(status.error());
  return filled;
}

}  // namespace drover
