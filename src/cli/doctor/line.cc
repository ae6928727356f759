#include "cli/doctor/line.h"

#include <array>
#include <utility>

namespace drover::cli {
namespace {

constexpr std::array<std::string_view, 3> kLevelNames{"ok", "warn", "fail"};

}  // namespace

DoctorLine not_checked(std::string check, const Error& error, std::string fix) {
  if (error.code == ErrorCode::kStoreUnavailable)
    fix = "it cannot be reached: fix that first, then run drover doctor again";
  if (error.code != ErrorCode::kForbidden) {
    return {.level = DoctorLevel::kFail, .check = std::move(check), .detail = error.message, .fix = std::move(fix)};
  }
  return {.level = DoctorLevel::kWarn,
          .check = std::move(check),
          .detail = "not checked: " + error.message,
          .fix = "use the token of an operator or admin: DROVER_TOKEN, or --token-file FILE"};
}

std::string_view name_of(DoctorLevel level) {
  return kLevelNames[static_cast<std::size_t>(std::to_underlying(level))];
}

}  // namespace drover::cli
