#include "server/readiness.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/log.h"
#include "net/wake.h"

namespace drover::server {
namespace {

constexpr int kOkStatus = 200;
constexpr int kNotReady = 503;
constexpr MonoTime kNever{Millis::max()};

struct Reason {
  ErrorCode code;
  std::string_view message;
};

// Without the error's own words, which may name what a stranger should not know.
Reason reason_of(const Error& error) {
  switch (error.code) {
    case ErrorCode::kStoreRegressed:
      return {error.code, "the store went backwards: acknowledged work is missing, so workers claim nothing"};
    case ErrorCode::kStoreDamaged:
      return {error.code, "the store is damaged, or its files were replaced under the server; the log says more"};
    case ErrorCode::kSchemaTooNew:
      return {error.code, "a newer drover uses the store; upgrade the server"};
    case ErrorCode::kDiskFull:
      return {error.code, "the disk of the store is full: new tasks are refused"};
    default:
      return {ErrorCode::kStoreUnavailable, error.operation == Readiness::kWriteOperation
                                                ? "the store answers but cannot be written to"
                                                : "the store does not answer"};
  }
}

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
  const std::optional<Error> before =
      std::exchange(error_, alerts ? std::nullopt : std::optional<Error>(alerts.error()));
  if (error_ && (!before || before->message != error_->message)) {
    log_error("server", "not ready", {{"error", to_string(*error_)}});
  }
  is_stalled_ = alerts && std::ranges::find(*alerts, AlertKind::kIdleWorkers, &Alert::kind) != alerts->end();
  for (const Waiting& waiting : std::exchange(waiting_, {})) waiting.reply(answer(error_));
}

MonoTime Readiness::tick(MonoTime now) {
  const auto first_left = std::ranges::find_if(waiting_, [now](const Waiting& one) { return one.until > now; });
  std::vector<Waiting> over(std::make_move_iterator(waiting_.begin()), std::make_move_iterator(first_left));
  waiting_.erase(waiting_.begin(), first_left);
  for (const Waiting& one : over)
    one.reply(answer(Error{ErrorCode::kStoreUnavailable, {}, {}}));  // the same client may ask again at once
  return waiting_.empty() ? kNever : waiting_.front().until;
}

HttpResponse Readiness::answer(const std::optional<Error>& error) const {
  std::string reasons;
  const auto add = [&](std::string_view code, std::string_view message) {
    if (!reasons.empty()) reasons += ',';
    reasons += fmt::format(R"({{"code":"{}","message":"{}"}})", code, message);
  };
  if (stopping_) add("stopping", "the server is stopping");
  if (error) {
    const Reason reason = reason_of(*error);
    const bool is_for_a_while = reason.code == ErrorCode::kStoreUnavailable;
    if (!stopping_ || !is_for_a_while) add(error_info(reason.code).name, reason.message);
  }
  if (!error && is_stalled_) {
    add("not_consumed", "tasks are waiting and nothing holds them back, but workers with free slots do not take them");
  }
  return {.status = reasons.empty() ? kOkStatus : kNotReady,
          .body = fmt::format(R"({{"ready":{},"reasons":[{}]}})", reasons.empty(), reasons)};
}

}  // namespace drover::server
