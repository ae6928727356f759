// Graph: the tasks around one, those nearest first. Breadth first, so that what is left out is far away.
#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "base/try.h"
#include "core/spec_check.h"
#include "engine/engine.h"

namespace drover {
namespace {

using EdgeKind = TaskGraph::EdgeKind;

class GraphSearch {
 public:
  GraphSearch(Store& store, const std::optional<std::string>& owner, int limit)
      : store_(store), owner_(owner), limit_(static_cast<std::size_t>(limit)) {}

  Result<TaskGraph> run(const TaskId& root) {
    auto found = TRY(store_.read(std::span(&root, 1), Parts::kAll));
    std::optional<TaskRecord>& record = found.front();
    if (!record || !may_see(*record)) return no_such_task(root);
    add(*std::move(record), 0);
    for (std::size_t next = 0; next < nodes_.size(); ++next) TRY(look_around(next));
    return take(root);
  }

 private:
  [[nodiscard]] bool may_see(const TaskRecord& record) const { return !owner_ || record.task.owner == *owner_; }

  void add(TaskRecord record, int distance) {
    places_[record.task.id] = nodes_.size();
    nodes_.push_back({.task = std::move(record.task), .distance = distance});
  }

  // Its parents and its spawner, then what depends on it, then its children.
  Status look_around(std::size_t at) {
    const Task task = nodes_[at].task;
    TRY(meet_before(at, task));
    const auto dependents = TRY(store_.dependents(task.id));
    for (const TaskRecord& record : dependents) meet(at, record, {task.id, record.task.id, EdgeKind::kDependsOn});
    const auto children = TRY(store_.children(task.id));
    for (const TaskRecord& record : children) meet(at, record, {task.id, record.task.id, EdgeKind::kSpawned});
    return {};
  }

  Status meet_before(std::size_t at, const Task& task) {
    // What a task depends on stands in its body, which heads do not have.
    const auto read = TRY(store_.read(std::span(&task.id, 1), Parts::kAll));
    const std::optional<TaskRecord>& whole = read.front();
    std::vector<TaskId> ids = whole ? whole->task.depends_on : std::vector<TaskId>();
    const std::size_t parents = ids.size();
    if (task.parent_id) ids.push_back(*task.parent_id);
    const auto found = TRY(store_.read(ids, Parts::kHead));
    for (std::size_t i = 0; i < ids.size(); ++i) {
      const std::optional<TaskRecord>& near = found[i];
      if (near) meet(at, *near, {ids[i], task.id, i < parents ? EdgeKind::kDependsOn : EdgeKind::kSpawned});
    }
    return {};
  }

  void meet(std::size_t at, const TaskRecord& record, const TaskGraph::Edge& edge) {
    if (!may_see(record)) return;
    if (!places_.contains(record.task.id)) {
      if (nodes_.size() >= limit_) {
        nodes_[at].more = true;
        return;
      }
      add(record, nodes_[at].distance + 1);
    }
    if (edges_.insert({edge.from, edge.to, edge.kind}).second) in_order_.push_back(edge);
  }

  TaskGraph take(const TaskId& root) {
    TaskGraph graph{.root = root, .nodes = std::move(nodes_), .edges = std::move(in_order_)};
    return graph;
  }

  Store& store_;
  const std::optional<std::string>& owner_;
  const std::size_t limit_;
  std::vector<TaskGraph::Node> nodes_;
  std::map<TaskId, std::size_t> places_;
  std::set<std::tuple<TaskId, TaskId, EdgeKind>> edges_;
  std::vector<TaskGraph::Edge> in_order_;
};

}  // namespace

Result<TaskGraph> Engine::graph(const TaskId& id, const std::optional<std::string>& owner, int limit) {
  TRY(check_bounds(limit, Bounds{1, kGraphTasksMax}));
  return GraphSearch(store_, owner, limit).run(id);
}

}  // namespace drover
