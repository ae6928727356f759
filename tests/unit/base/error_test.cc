#include "drover/error.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace drover {
namespace {

// The promise to scripts and clients, written out apart from the table it tests.
struct Row {
  ErrorCode code;
  std::string_view name;
  int exit_code;
  int http_status;
  Retryable retryable;
};

constexpr Row kPromised[] = {
    {ErrorCode::kInvalidJson, "invalid_json", 1, 400, Retryable::kNo},
    {ErrorCode::kInvalidArgument, "invalid_argument", 1, 400, Retryable::kNo},
    {ErrorCode::kInvalidPayload, "invalid_payload", 1, 422, Retryable::kNo},
    {ErrorCode::kInvalidResult, "invalid_result", 1, 422, Retryable::kNo},
    {ErrorCode::kInvalidConfig, "invalid_config", 1, 422, Retryable::kNo},
    {ErrorCode::kUnknownParent, "unknown_parent", 1, 422, Retryable::kNo},
    {ErrorCode::kCycle, "cycle", 1, 422, Retryable::kNo},
    {ErrorCode::kPayloadTooLarge, "payload_too_large", 1, 413, Retryable::kNo},
    {ErrorCode::kResultTooLarge, "result_too_large", 1, 413, Retryable::kNo},
    {ErrorCode::kNotFound, "not_found", 5, 404, Retryable::kNo},
    {ErrorCode::kWrongState, "wrong_state", 6, 409, Retryable::kNo},
    {ErrorCode::kStaleLease, "stale_lease", 6, 409, Retryable::kNo},
    {ErrorCode::kRequestConflict, "request_conflict", 6, 409, Retryable::kNo},
    {ErrorCode::kVersionMismatch, "version_mismatch", 6, 412, Retryable::kNo},
    {ErrorCode::kQueueFull, "queue_full", 1, 429, Retryable::kYes},
    {ErrorCode::kLimitExceeded, "limit_exceeded", 1, 429, Retryable::kYes},
    {ErrorCode::kUnauthorised, "unauthorised", 4, 401, Retryable::kNo},
    {ErrorCode::kForbidden, "forbidden", 4, 403, Retryable::kNo},
    {ErrorCode::kStoreUnavailable, "store_unavailable", 7, 503, Retryable::kYes},
    {ErrorCode::kStoreDamaged, "store_damaged", 1, 500, Retryable::kNo},
    {ErrorCode::kStoreRegressed, "store_regressed", 1, 503, Retryable::kYes},
    {ErrorCode::kDiskFull, "disk_full", 1, 507, Retryable::kYes},
    {ErrorCode::kSchemaTooNew, "schema_too_new", 1, 503, Retryable::kNo},
    {ErrorCode::kUnknownType, "unknown_type", 1, 422, Retryable::kNo},
    {ErrorCode::kUnknownWorker, "unknown_worker", 5, 404, Retryable::kNo},
    {ErrorCode::kSessionBusy, "session_busy", 6, 409, Retryable::kNo},
    {ErrorCode::kInternal, "internal", 1, 500, Retryable::kNo},
};

TEST(ErrorTest, EveryCodeMapsAsPromised) {
  for (const Row& row : kPromised) {
    const ErrorInfo& info = error_info(row.code);
    EXPECT_EQ(info.code, row.code) << row.name;
    EXPECT_EQ(info.name, row.name);
    EXPECT_EQ(info.exit_code, row.exit_code) << row.name;
    EXPECT_EQ(info.http_status, row.http_status) << row.name;
    EXPECT_EQ(info.retryable, row.retryable) << row.name;
    EXPECT_EQ(error_code_from_name(row.name), row.code) << row.name;
  }
}

TEST(ErrorTest, EveryCodeIsPromisedOnceUnderItsOwnName) {
  std::set<ErrorCode> codes;
  std::set<std::string_view> names;
  for (const Row& row : kPromised) {
    codes.insert(row.code);
    names.insert(row.name);
  }
  const auto count = static_cast<std::size_t>(ErrorCode::kInternal) + 1;  // the last enumerator
  EXPECT_EQ(codes.size(), count);
  EXPECT_EQ(names.size(), count);
  EXPECT_EQ(std::size(kPromised), count);
}

TEST(ErrorTest, NoExitCodeStandsForSomethingElse) {
  // 0 is success, 2 usage, 10 and 11 the fate of a task, 124 a wait that timed out.
  for (const Row& row : kPromised) {
    for (const int taken : {0, 2, 10, 11, 124}) EXPECT_NE(error_info(row.code).exit_code, taken) << row.name;
  }
}

TEST(ErrorTest, UnknownNamesHaveNoCode) {
  for (const std::string_view name : {"", "Internal", "internal ", "kInternal", "stale lease"}) {
    EXPECT_EQ(error_code_from_name(name), std::nullopt) << name;
  }
}

TEST(ErrorTest, ToStringLeavesOutWhatIsEmpty) {
  const Error full{ErrorCode::kStoreUnavailable, "the store is locked by pid 12", "sqlite.lock"};
  EXPECT_EQ(to_string(full), "store_unavailable: the store is locked by pid 12 (sqlite.lock)");
  EXPECT_EQ(to_string(Error{ErrorCode::kNotFound, "no such task", ""}), "not_found: no such task");
  EXPECT_EQ(to_string(Error{ErrorCode::kCycle, "", "enqueue"}), "cycle (enqueue)");
  EXPECT_EQ(to_string(Error{ErrorCode::kCycle, "", ""}), "cycle");
}

TEST(ErrorTest, FailMakesAResult) {
  const Result<int> result = fail(ErrorCode::kDiskFull, "no space", "sqlite.commit");
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error(), (Error{ErrorCode::kDiskFull, "no space", "sqlite.commit"}));
}

}  // namespace
}  // namespace drover
