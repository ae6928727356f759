#include "store/redis/link.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/log.h"

namespace drover::redis {
namespace {

constexpr Millis kPauseMin{50};
constexpr Millis kPauseMax{2'000};
constexpr int kDoublingsMax = 6;  // 50 ms to past 2 s

Millis pause_after(int failures, Rng& rng) {
  const Millis full = std::min(kPauseMin * (1 << std::min(failures - 1, kDoublingsMax)), kPauseMax);
  const auto half = full / 2;
  return half + Millis(rng.below(static_cast<std::uint64_t>(half.count()) + 1));
}

}  // namespace

Result<Connection*> Link::get(const Interrupt* interrupt) {
  if (connection_ && !connection_->is_stale()) return connection_.get();
  if (connection_) log_info("redis", "the server closed the connection", {{"store", to_string(options_.address)}});
  connection_.reset();
  if (pause_left() > Millis(0)) return std::unexpected(refusal());
  if (const Status connected = connect(interrupt); !connected) {
    const bool gave_up = interrupt != nullptr && interrupt->is_raised();  // the server is not to blame
    if (gave_up) connection_.reset();
    if (!gave_up) lost(connected.error());
    return std::unexpected(connected.error());
  }
  last_failure_.reset();
  return connection_.get();
}

Status Link::connect(const Interrupt* interrupt) {
  Result<std::unique_ptr<Connection>> connection =
      Connection::open(options_.address, Patience::of(options_.connect_timeout, interrupt));
  if (!connection) return std::unexpected(connection.error());
  connection_ = *std::move(connection);
  if (!options_.on_connect) return {};
  return options_.on_connect(*connection_, Patience::of(options_.call_timeout, interrupt));
}

Status Link::prepare_again() {
  if (!options_.on_connect) return {};
  return options_.on_connect(*connection_, Patience::of(options_.call_timeout));
}

void Link::lost(const Error& why) {
  connection_.reset();
  ++failures_;
  if (failures_ == 1) {
    log_warn("redis", "no connection", {{"store", to_string(options_.address)}, {"why", to_string(why)}});
  }
  last_failure_ = why;
  retry_at_ = options_.clock->mono() + pause_after(failures_, *options_.rng);
}

Millis Link::pause_left() const {
  if (!last_failure_) return Millis(0);
  return std::max(retry_at_ - options_.clock->mono(), Millis(0));
}

Error Link::refusal() const {
  const Error& why = last_failure_.value_or(Error{});
  return {why.code, fmt::format("no connection to Redis, next attempt in {} ms: {}", pause_left().count(), why.message),
          "redis.connect"};
}

}  // namespace drover::redis
