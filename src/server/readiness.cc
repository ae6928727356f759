#include "server/readiness.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "net/wake.h"

namespace drover::server {
namespace {

constexpr int kOkStatus = 200;
constexpr int kNotReady = 503;
constexpr MonoTime kNever{Millis::max()};

}  // namespace

void Readiness::ask(MonoTime now, Reply reply) {
  if (stopping_ || (looked_at_ && now - *looked_at_ < kFreshFor)) return reply(answer(error_));
  waiting_.push_back({.until = now + kStoreAnswersWithin, .reply = std::move(reply)});
  if (!is_looking_) start_look();
}

void Readiness::start_look() {
  is_looking_ = true;
  if (thread_.joinable()) thread_.join();  // it has posted its answer, and ends
  thread_ = std::jthread([this] {
    block_signals_in_this_thread();
    loop_.post([this, alerts = look_()] { finish_look(alerts); });
  });
}

void Readiness::finish_look(const Result<std::vector<Alert>>& alerts) {
  is_looking_ = false;
  looked_at_ = system_clock().mono();
  error_ = alerts ? std::nullopt : std::optional(alerts.error().code);
  is_stalled_ = alerts && std::ranges::find(*alerts, AlertKind::kIdleWorkers, &Alert::kind) != alerts->end();
  for (const Waiting& waiting : std::exchange(waiting_, {})) waiting.reply(answer(error_));
}

MonoTime Readiness::tick(MonoTime now) {
  const auto first_left = std::ranges::find_if(waiting_, [now](const Waiting& one) { return one.until > now; });
  std::vector<Waiting> over(std::make_move_iterator(waiting_.begin()), std::make_move_iterator(first_left));
  waiting_.erase(waiting_.begin(), first_left);
  for (const Waiting& one : over)
    one.reply(answer(ErrorCode::kStoreUnavailable));  // the same client may ask again at once
  return waiting_.empty() ? kNever : waiting_.front().until;
}

HttpResponse Readiness::answer(std::optional<ErrorCode> error) const {
  std::string reasons;
  const auto add = [&](std::string_view code, std::string_view message) {
    if (!reasons.empty()) reasons += ',';
    reasons += fmt::format(R"({{"code":"{}","message":"{}"}})", code, message);
  };
  if (stopping_) add("stopping", "the server is going down");
  if (error == ErrorCode::kStoreRegressed) {
    add("store_regressed", "the store went backwards: what was acknowledged is gone, and claims pause");
  } else if (error && !stopping_) {
    add("store_unavailable", "the store does not answer");
  }
  if (!error && is_stalled_) {
    add("not_consumed", "tasks wait, nothing holds them back, and workers with free slots do not take them");
  }
  return {.status = reasons.empty() ? kOkStatus : kNotReady,
          .body = fmt::format(R"({{"ready":{},"reasons":[{}]}})", reasons.empty(), reasons)};
}

}  // namespace drover::server
