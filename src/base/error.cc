#include "drover/error.h"

#include <array>
#include <cstddef>

namespace drover {
namespace {

using enum ErrorCode;
using enum Retryable;

// In the order of the enumerators, so that a code is its own index.
constexpr std::array<ErrorInfo, 27> kErrors{{
    {kInvalidJson, "invalid_json", 1, 400, kNo},
    {kInvalidArgument, "invalid_argument", 1, 400, kNo},
    {kInvalidPayload, "invalid_payload", 1, 422, kNo},
    {kInvalidResult, "invalid_result", 1, 422, kNo},
    {kInvalidConfig, "invalid_config", 1, 422, kNo},
    {kUnknownParent, "unknown_parent", 1, 422, kNo},
    {kCycle, "cycle", 1, 422, kNo},
    {kPayloadTooLarge, "payload_too_large", 1, 413, kNo},
    {kResultTooLarge, "result_too_large", 1, 413, kNo},
    {kNotFound, "not_found", 5, 404, kNo},
    {kWrongState, "wrong_state", 6, 409, kNo},
    {kStaleLease, "stale_lease", 6, 409, kNo},
    {kRequestConflict, "request_conflict", 6, 409, kNo},
    {kVersionMismatch, "version_mismatch", 6, 412, kNo},
    {kQueueFull, "queue_full", 1, 429, kYes},
    {kLimitExceeded, "limit_exceeded", 1, 429, kYes},
    {kUnauthorised, "unauthorised", 4, 401, kNo},
    {kForbidden, "forbidden", 4, 403, kNo},
    {kStoreUnavailable, "store_unavailable", 7, 503, kYes},
    {kStoreDamaged, "store_damaged", 1, 500, kNo},
    {kStoreRegressed, "store_regressed", 1, 503, kYes},
    {kDiskFull, "disk_full", 1, 507, kYes},
    {kSchemaTooNew, "schema_too_new", 1, 503, kNo},
    {kUnknownType, "unknown_type", 1, 422, kNo},
    {kUnknownWorker, "unknown_worker", 5, 404, kNo},
    {kSessionBusy, "session_busy", 6, 409, kNo},
    {kInternal, "internal", 1, 500, kNo},
}};

constexpr bool in_enumerator_order() {
  for (std::size_t i = 0; i < kErrors.size(); ++i) {
    if (static_cast<std::size_t>(kErrors[i].code) != i) return false;
  }
  return static_cast<std::size_t>(kInternal) + 1 == kErrors.size();
}
static_assert(in_enumerator_order());

}  // namespace

const ErrorInfo& error_info(ErrorCode code) {
  return kErrors.at(static_cast<std::size_t>(code));
}

std::optional<ErrorCode> error_code_from_name(std::string_view name) {
  for (const ErrorInfo& info : kErrors) {
    if (info.name == name) return info.code;
  }
  return std::nullopt;
}

std::string to_string(const Error& error) {
  std::string text(error_info(error.code).name);
  if (!error.message.empty()) text.append(": ").append(error.message);
  if (!error.operation.empty()) text.append(" (").append(error.operation).append(")");
  return text;
}

}  // namespace drover
