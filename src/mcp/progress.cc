#include "mcp/progress.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/json.h"

namespace drover::mcp {
namespace {

constexpr std::int64_t kThousand = 1'000;
constexpr std::int64_t kPercent = 100;

std::string notification_of(const std::string& token, std::int64_t thousandths, const Waiting& waiting) {
  json::Writer out;
  out.begin_object().key("progressToken").raw(token);
  const std::int64_t rest = thousandths % kThousand;
  out.key("progress")
      .raw(rest == 0 ? fmt::format("{}", thousandths / kThousand)
                     : fmt::format("{}.{:03}", thousandths / kThousand, rest));
  out.key("total").number(kPercent * waiting.total);
  out.key("message").string(fmt::format("{} of {} tasks have ended", waiting.done, waiting.total)).end_object();
  return notification("notifications/progress", std::move(out).take());
}

}  // namespace

std::optional<std::string> tell_progress(const Request& request, const Waiting& waiting, Told& told, MonoTime now) {
  if (!request.progress_token) return std::nullopt;
  const std::int64_t reached = kThousand * waiting.percent;
  const bool has_grown = !told.thousandths || reached > *told.thousandths;
  if (!has_grown && now < told.at + kProgressEvery) return std::nullopt;
  told = {.thousandths = has_grown ? reached : *told.thousandths + 1, .at = now};
  return notification_of(*request.progress_token, *told.thousandths, waiting);
}

}  // namespace drover::mcp
