#include "worker/parent_results.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/json.h"
#include "base/try.h"

namespace drover {
namespace {

void put_parent(json::Writer& out, const ParentResult& parent, bool is_whole) {
  out.begin_object().key("id").string(parent.id.to_string()).key("ref");
  parent.ref ? out.string(*parent.ref) : out.null();
  out.key("type");
  parent.state ? out.string(parent.type) : out.null();
  out.key("state");
  parent.state ? out.string(name_of(*parent.state)) : out.null();
  out.key("result").raw(parent.result && is_whole ? *parent.result : "null").key("error");
  if (parent.error) {
    out.begin_object().key("class").string(name_of(parent.error->error_class));
    out.key("message").string(parent.error->message).end_object();
  } else {
    out.null();
  }
  out.key("truncated").boolean(!is_whole).key("expired").boolean(!parent.state).end_object();
}

}  // namespace

Result<std::vector<ParentResult>> read_parents(TaskQueue& queue, const Task& task) {
  std::vector<ParentResult> parents;
  for (const TaskId& id : task.depends_on) {
    auto read = queue.parent(task.id, id);
    if (!read && read.error().code != ErrorCode::kNotFound) return std::unexpected(read.error());
    ParentResult& parent = parents.emplace_back(ParentResult{.id = id});
    if (!read) continue;
    parent.ref = std::move(read->ref);
    parent.type = std::move(read->type);
    parent.state = read->state;
    parent.result = std::move(read->result);
    parent.error = std::move(read->error);
  }
  return parents;
}

std::string to_json(std::span<const ParentResult> parents) {
  json::Writer out;
  std::size_t bytes = 0;
  out.begin_array();
  for (const ParentResult& parent : parents) {
    const std::size_t size = parent.result ? parent.result->size() : 0;
    const bool is_whole = size <= kParentResultBytesMax && bytes + size <= kParentResultsBytesMax;
    if (is_whole) bytes += size;
    put_parent(out, parent, is_whole);
  }
  out.end_array();
  return std::move(out).take();
}

Result<ParentResult> find_parent(std::span<const ParentResult> parents, std::string_view id_or_ref) {
  const ParentResult* found = nullptr;
  for (const ParentResult& parent : parents) {
    if (parent.id.to_string() == id_or_ref) return parent;
    if (parent.ref != id_or_ref) continue;
    if (found != nullptr) {
      return fail(ErrorCode::kInvalidArgument,
                  fmt::format("several parents have the ref {}; name one by its id", json::quote(id_or_ref)));
    }
    found = &parent;
  }
  if (found != nullptr) return *found;
  return fail(ErrorCode::kNotFound, fmt::format("the task has no parent {}", json::quote(id_or_ref)));
}

}  // namespace drover
