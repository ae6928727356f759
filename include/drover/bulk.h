// Bulk operations: one verb for many tasks, by filter or by id, as one durable operation.
//
// An operation is a record in the store. Sweepers carry it out in bounded steps, each of which changes its tasks and
// the record together: whichever process goes on after another died, each task is changed once.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "drover/error.h"
#include "drover/task_queue.h"

namespace drover {

// A UUIDv7.
class BulkId {
 public:
  BulkId() = default;
  explicit BulkId(const TaskId::Bytes& bytes) : uuid_(bytes) {}
  [[nodiscard]] static std::optional<BulkId> parse(std::string_view text);

  [[nodiscard]] std::string to_string() const { return uuid_.to_string(); }
  auto operator<=>(const BulkId&) const = default;

 private:
  TaskId uuid_;
};

enum class BulkVerb : std::uint8_t { kCancel, kRetry, kEdit, kEscalate, kDelete };
inline constexpr int kBulkVerbCount = 5;
[[nodiscard]] std::string_view name_of(BulkVerb verb);
[[nodiscard]] std::optional<BulkVerb> parse_bulk_verb(std::string_view name);

enum class BulkState : std::uint8_t { kRunning, kStopped, kCompleted };
[[nodiscard]] std::string_view name_of(BulkState state);
[[nodiscard]] std::optional<BulkState> parse_bulk_state(std::string_view name);

inline constexpr std::size_t kBulkIdsMax = 1'000;
inline constexpr std::size_t kBulkPayloadBytesMax = 16 * 1'024;  // of a payload or patch
inline constexpr std::size_t kBulkRunningMax = 16;               // operations at a time
inline constexpr std::size_t kBulkEndedMax = 100;                // ended operations that are kept,
inline constexpr Millis kBulkEndedKept{7LL * 24 * 3'600'000};    // for this long
inline constexpr std::size_t kBulkProblemsMax = 10;
inline constexpr std::size_t kBulkSampleMax = 20;

// What is to be done, and to which tasks: to those that the filter matches, or to these.
struct BulkOrder {
  BulkVerb verb = BulkVerb::kCancel;
  std::optional<TaskFilter> filter{};
  std::vector<TaskId> ids{};
  Verdict verdict{};                  // kept with the operation and with each task that it changes
  std::optional<RetryOrder> retry{};  // for kRetry, without its verdict
  std::optional<EditOrder> edit{};    // for kEdit, without a version
  std::string to{};                   // for kEscalate
  // On whose account it is. A server sets it for callers who may act for one owner only; each task is this owner's.
  std::optional<std::string> owner{};
};

struct BulkPreview {
  BulkVerb verb = BulkVerb::kCancel;
  std::int64_t matched = 0;
  bool exact = true;  // false: counting has stopped at a bound, and at least so many match
  std::array<std::int64_t, kTaskStateCount> by_state{};
  std::vector<TaskId> sample{};  // the newest
};

// A task that was left as it was, and why.
struct BulkProblem {
  TaskId id;
  ErrorCode code = ErrorCode::kInternal;
  std::string message;

  bool operator==(const BulkProblem&) const = default;
};

struct BulkOperation {
  BulkId id{};
  BulkOrder order{};  // its filter with the states that are meant; ids are not told
  BulkState state = BulkState::kRunning;
  std::int64_t total = 0;  // how many tasks matched at the start
  bool total_is_exact = true;
  std::int64_t done = 0;
  std::int64_t skipped = 0;  // were gone, or in another state, when their turn came
  std::int64_t failed = 0;   // the verb was refused for these
  std::vector<BulkProblem> problems{};
  Time started_at{};
  Time updated_at{};
  std::optional<Time> ended_at{};
  Verdict stopped{};
};

}  // namespace drover
