// The event log, packed: events that were made together share a row, one line each.
//
// A line is the fields of an event with tabs between them: at, name, task, type, queue, owner, state, run, generation,
// data. A field that is as in the line before is "=". None of them holds a tab or a line break: names have none, and
// compact JSON escapes them.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "drover/task.h"

namespace drover::sqlite {

// So that a page of these usually fits into one of SQLite's.
inline constexpr int kEventsPerPage = 64;

class EventPage {
 public:
  // All of the event but its seq, which follows from the row.
  void add(const Event& event);
  // The same, of a task.
  void add(Time at, std::string_view name, const Task& task, std::string_view data);
  void clear();

  [[nodiscard]] int count() const { return count_; }
  [[nodiscard]] const std::string& lines() const { return lines_; }

 private:
  static constexpr std::size_t kFields = 10;

  // Of one line; a field that is as in the line before is put as that.
  class Line;

  std::string lines_;
  // What each field was in the line before, by what it is.
  std::array<std::string, kFields> last_texts_;
  std::array<std::int64_t, kFields> last_numbers_{};
  TaskId last_task_;
  int count_ = 0;
};

// Throws SqliteFailure(SQLITE_CORRUPT).
[[nodiscard]] std::vector<Event> unpack_events(std::string_view lines, std::int64_t first_seq);

}  // namespace drover::sqlite
