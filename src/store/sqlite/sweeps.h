// What the sweepers look for: tasks whose time has come, by the store's clock.
#pragma once

#include <optional>
#include <vector>

#include "base/clock.h"
#include "store/sqlite/connection.h"
#include "store/store.h"

namespace drover::sqlite {

[[nodiscard]] std::vector<TaskRecord> read_due(Connection& db, const Clock& clock, int limit);
[[nodiscard]] std::vector<TaskRecord> read_past_deadline(Connection& db, const Clock& clock, int limit);
[[nodiscard]] std::vector<TaskRecord> read_lapsed(Connection& db, const Clock& clock, std::optional<Millis> silent_for,
                                                  int limit);
[[nodiscard]] std::vector<TaskRecord> read_cascades(Connection& db, int limit);
[[nodiscard]] std::optional<Millis> read_next_wake(Connection& db, const Clock& clock);

}  // namespace drover::sqlite
