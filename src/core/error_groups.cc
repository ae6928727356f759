#include "core/error_groups.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "core/fingerprint.h"

namespace drover {
namespace {

// In the order of names, each once.
void add_type(std::vector<std::string>& types, const std::string& type) {
  const auto at = std::ranges::lower_bound(types, type);
  if (types.size() >= kGroupTypesMax || (at != types.end() && *at == type)) return;
  types.insert(at, type);
}

}  // namespace

ErrorGroup& ErrorGroups::group_of(const TaskError& error) {
  std::string print = fingerprint(error);
  const auto known = groups_.find(print);
  if (known != groups_.end()) return known->second;
  if (groups_.size() >= kErrorGroupsMax) return rest_;
  ErrorGroup& group = groups_[print];
  group.fingerprint = std::move(print);
  group.error_class = error.error_class;
  group.pattern = pattern_of(error.message);
  return group;
}

void ErrorGroups::add(const Task& task) {
  ErrorGroup& group = group_of(task.error.value_or(TaskError{}));
  const Time at = task.finished_at.value_or(task.created_at);
  if (group.count == 0) {
    group.example = task.id;
    group.first_at = group.last_at = at;
  }
  ++group.count;
  if (task.escalation) ++group.escalated;
  add_type(group.types, task.type);
  group.first_at = std::min(group.first_at, at);
  group.last_at = std::max(group.last_at, at);
}

std::vector<ErrorGroup> ErrorGroups::take() && {
  std::vector<ErrorGroup> all;
  all.reserve(groups_.size() + 1);
  for (auto& [print, group] : groups_) all.push_back(std::move(group));
  std::ranges::sort(all, [](const ErrorGroup& a, const ErrorGroup& b) {
    return std::tie(b.count, a.fingerprint) < std::tie(a.count, b.fingerprint);
  });
  if (rest_.count > 0) {
    rest_.pattern = fmt::format("(other: beyond the first {} kinds)", kErrorGroupsMax);
    all.push_back(std::move(rest_));
  }
  return all;
}

}  // namespace drover
