// Gates as rows, read once per transaction and written back at the end of each part.
#pragma once

#include <optional>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/gate.h"
#include "store/sqlite/connection.h"

namespace drover::sqlite {

struct Gate {
  GateRecord record;  // revision 0 if it is not set
  GateLimits limits;  // what it enforces, by its own record or by what is there for gates of its kind
  GateUse use;
  std::optional<Time> wake_at;  // when to look at the lanes that wait
  std::string cursor;           // the queue that was looked at last
  bool has_spent = false;       // its budgets are to be written

  [[nodiscard]] const std::string& name() const { return record.name; }
};

// The gate of the type among those of a task.
[[nodiscard]] inline const Gate& type_gate(std::span<Gate* const> gates) {
  return *gates[2];
}

class GateRows {
 public:
  explicit GateRows(Connection& db) : db_(db) {}

  // Reads what is spent of its budgets anew, after its limits have changed.
  void read_spend(Gate& gate);

  // The same of all that were read.
  void read_spends();

  // Until clear() the gate stays where it is.
  [[nodiscard]] Gate& get(const std::string& name);
  // The gates of a task, in the order in which they are asked.
  [[nodiscard]] std::span<Gate* const> of(const Task& task);
  void changed(Gate& gate) { changed_.insert(&gate); }
  [[nodiscard]] GateLimits limits_in_force(const GateRecord& record);

  // Writes what has changed; before statements over the table, and at the end of a part.
  void flush();
  // Forgets what was read: the table is not as it was.
  void clear();

 private:
  [[nodiscard]] Gate read(const std::string& name);
  void write(Gate& gate);
  void write_spend(const Gate& gate);

  Connection& db_;
  std::unordered_map<std::string, Gate> gates_;
  std::set<Gate*> changed_;
  Task last_;  // whose gates were asked for last: many in a row are alike
  std::vector<Gate*> last_gates_;
};

}  // namespace drover::sqlite
