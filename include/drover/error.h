// Errors: one code per kind of failure, one table that says what each surface makes of it.
#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace drover {

// The stable codes of the public surfaces. Their names never change.
enum class ErrorCode : std::uint8_t {
  kInvalidJson,
  kInvalidArgument,
  kInvalidPayload,
  kInvalidResult,
  kInvalidConfig,
  kUnknownParent,
  kCycle,
  kPayloadTooLarge,
  kResultTooLarge,
  kNotFound,
  kWrongState,
  kStaleLease,
  kRequestConflict,
  kVersionMismatch,
  kQueueFull,
  kLimitExceeded,
  kUnauthorised,
  kForbidden,
  kStoreUnavailable,
  kStoreDamaged,
  kStoreRegressed,
  kDiskFull,
  kSchemaTooNew,
  kUnknownType,
  kUnknownWorker,
  kSessionBusy,
  kInternal,
};

enum class Retryable : std::uint8_t { kNo, kYes };

struct ErrorInfo {
  ErrorCode code;
  std::string_view name;  // as it stands on every wire: "store_unavailable"
  int exit_code;          // of the command line
  int http_status;
  Retryable retryable;  // whether the same call may succeed later
};

// The row of one code. Total: every code has one.
[[nodiscard]] const ErrorInfo& error_info(ErrorCode code);
[[nodiscard]] std::optional<ErrorCode> error_code_from_name(std::string_view name);

struct Error {
  ErrorCode code = ErrorCode::kInternal;
  std::string message;    // for people: what is wrong and, where it helps, what to do
  std::string operation;  // where it happened: "sqlite.commit"; empty for bad input

  bool operator==(const Error&) const = default;
};

// "store_unavailable: the store is locked by pid 12 (sqlite.lock)"
[[nodiscard]] std::string to_string(const Error& error);

template <class T>
using Result = std::expected<T, Error>;
using Status = Result<void>;

[[nodiscard]] inline std::unexpected<Error> fail(ErrorCode code, std::string message, std::string operation = {}) {
  return std::unexpected(Error{code, std::move(message), std::move(operation)});
}

}  // namespace drover
