#include "engine/batch.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <unordered_map>

#include "base/json.h"
#include "base/try.h"

namespace drover {

namespace {

struct Names {
  std::unordered_map<std::string_view, std::size_t> by_ref;
  std::unordered_map<TaskId, std::size_t> by_id;
};

// Whether a spec can name another, or be the same: ids that were made for this batch cannot.
bool are_related(std::span<const TaskSpec> specs) {
  return std::ranges::any_of(specs,
                             [](const TaskSpec& spec) { return spec.ref || spec.id || !spec.depends_on.empty(); });
}

Result<Names> collect_names(std::span<const TaskSpec> specs, std::span<const TaskId> ids) {
  Names names;
  if (!are_related(specs)) return names;
  for (std::size_t i = 0; i < specs.size(); ++i) {
    const std::optional<std::string>& ref = specs[i].ref;
    if (ref && !names.by_ref.emplace(*ref, i).second) {
      return fail(ErrorCode::kInvalidArgument, fmt::format("ref {} is given twice", json::quote(*ref)));
    }
    if (!names.by_id.emplace(specs[i].id.value_or(ids[i]), i).second) {
      return fail(ErrorCode::kInvalidArgument,
                  fmt::format("id {} is given twice", specs[i].id.value_or(ids[i]).to_string()));
    }
  }
  return names;
}

Result<BatchItem> link_item(const TaskSpec& spec, std::size_t index, const TaskId& id, const Names& names) {
  BatchItem item{index, spec.id.value_or(id), {}, {}};
  for (const ParentRef& parent : spec.depends_on) {
    if (const auto* ref = std::get_if<std::string>(&parent)) {
      const auto it = names.by_ref.find(*ref);
      if (it == names.by_ref.end())
        return fail(ErrorCode::kUnknownParent,
                    fmt::format("depends_on: no task of this batch has the ref {}", json::quote(*ref)));
      item.inner.push_back(it->second);
      continue;
    }
    const TaskId& parent_id = std::get<TaskId>(parent);
    const auto it = names.by_id.find(parent_id);
    if (it != names.by_id.end()) {
      item.inner.push_back(it->second);
    } else {
      item.outer.push_back(parent_id);
    }
  }
  std::ranges::sort(item.inner);
  item.inner.erase(std::ranges::unique(item.inner).begin(), item.inner.end());
  std::ranges::sort(item.outer);
  item.outer.erase(std::ranges::unique(item.outer).begin(), item.outer.end());
  return item;
}

}  // namespace

Result<std::vector<BatchItem>> plan_batch(std::span<const TaskSpec> specs, std::span<const TaskId> ids) {
  auto names = TRY(collect_names(specs, ids));
  std::vector<BatchItem> items;
  items.reserve(specs.size());
  std::vector<std::vector<std::size_t>> dependents(specs.size());
  std::vector<std::size_t> unmet(specs.size());
  for (std::size_t i = 0; i < specs.size(); ++i) {
    auto item = link_item(specs[i], i, ids[i], names);
    if (!item) return fail(item.error().code, fmt::format("task {}: {}", i + 1, item.error().message));
    for (const std::size_t parent : item->inner) dependents[parent].push_back(i);
    unmet[i] = item->inner.size();
    items.push_back(std::move(*item));
  }
  // Parents first, and otherwise the caller's order: that is the order in which equal tasks will start.
  std::vector<std::size_t> ready;
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (unmet[i] == 0) ready.push_back(i);
  }
  if (ready.size() == items.size()) return items;
  std::vector<BatchItem> ordered;
  for (std::size_t next = 0; next < ready.size(); ++next) {
    for (const std::size_t child : dependents[ready[next]]) {
      if (--unmet[child] == 0) ready.push_back(child);
    }
    ordered.push_back(std::move(items[ready[next]]));
  }
  if (ordered.size() != specs.size()) {
    const auto stuck =
        static_cast<std::size_t>(std::ranges::find_if(unmet, [](std::size_t n) { return n > 0; }) - unmet.begin());
    const std::optional<std::string>& ref = specs[stuck].ref;
    const std::string name = ref ? "@" + *ref : fmt::format("number {}", stuck + 1);
    return fail(
        ErrorCode::kCycle,
        fmt::format("the tasks of this batch depend on each other in a circle; {} is in it or depends on it", name));
  }
  return ordered;
}

}  // namespace drover
