#include "store/redis/redis_store.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "base/log.h"
#include "base/try.h"
#include "store/redis/pool_names.h"
#include "store/redis/record_text.h"
#include "store/redis/redis_store_class.h"
#include "store/redis/reply_error.h"
#include "store/redis/server_checks.h"

namespace drover::redis {
namespace {

constexpr Millis kLookEvery{50};  // for changes that others made
// The one that sweeps comes back when something is due, and at least every kSweeperRestMax. If it is later than that by
// kSweeperLateMax, another one takes its place. A lost task is to run again a second after its lease ended: most of
// that second is left to those who do it. Two that sweep at once do no harm.
constexpr Millis kSweeperRestMax{4'000};
constexpr Millis kSweeperLateMax{200};
// Redis looks only every 100 ms whether a waiting call has waited long enough: what is nearer than that is waited for
// here, in naps between which it is asked again.
constexpr Millis kBlockLeaves{150};
constexpr Millis kNapMax{40};
constexpr Millis kMendEvery{10'000};  // at most: a repair looks at every key

std::string codes_of(const std::vector<Finding>& findings) {
  std::set<std::string_view> codes;
  for (const Finding& finding : findings) codes.insert(finding.code);
  return fmt::format("{}", fmt::join(codes, ", "));
}

}  // namespace

// ---- calling

redis::ClientOptions RedisStore::client_options() {
  redis::ClientOptions options;
  options.address = options_.address;
  options.connect_timeout = options_.connect_timeout;
  options.call_timeout = options_.call_timeout;
  options.on_connect = [this](redis::Connection& connection, const Patience& patience) {
    const auto report = redis::check_server(connection, patience);
    if (!report) return Status(std::unexpected(report.error()));
    const Status loaded =
        redis::ensure_library(connection, key_, redis::library_text(clock_kind()), redis::kLibraryVersion, patience);
    return loaded ? look(connection, patience) : loaded;
  };
  return options;
}

Status RedisStore::open() {
  TRY(ask_clocks());
  return {};
}

Command RedisStore::function(std::string_view name) const {
  Command command("FCALL", library_ + "_" + std::string(name), 1, key_);
  const std::optional<Millis> lease_time = this->lease_time();
  const std::string lease_text = lease_time ? std::to_string(lease_time->count()) : "";
  if (options_.test_clock != nullptr) {
    command.add(fmt::format("{} {}", options_.test_clock->wall().time_since_epoch().count(), lease_text));
  } else {
    command.add(lease_text);
  }
  return command;
}

Result<Reply> RedisStore::ask(Client& client, const Command& command) {
  auto reply = client.call(command);
  if (reply && reply->is_error()) return std::unexpected(failure(*reply));
  return reply;
}

Error RedisStore::failure(const Reply& error_reply) {
  if (redis::is_function_missing(error_reply)) return redis::error_of(error_reply);
  if (!redis::is_function_broken_off(error_reply)) return redis::error_of(error_reply);
  const std::string_view text = error_reply.error_text();
  if (mend(text)) {
    return {ErrorCode::kStoreUnavailable,
            fmt::format("a call met damage in Redis and may have taken effect; the store was repaired, try again: {}",
                        text),
            "redis.call"};
  }
  return {ErrorCode::kStoreDamaged,
          fmt::format("a call met damage in Redis that Drover could not repair, and may have taken effect; run drover "
                      "fsck to see what is damaged: {}",
                      text),
          "redis.call"};
}

bool RedisStore::mend(std::string_view why) {
  {
    // Not while it repairs: that may come upon more damage, which is not to be mended twice.
    const std::lock_guard lock(mend_mutex_);
    const MonoTime here = system_clock().mono();
    if (mended_at_ && here - *mended_at_ < kMendEvery) return mending_helps_;
    mended_at_ = here;
    mending_helps_ = true;  // as far as is known while it lasts
  }
  const auto findings = fsck(FsckMode::kRepair);
  const auto repaired = findings ? std::ranges::count_if(*findings, &Finding::repaired) : 0;
  if (repaired > 0) {
    log_error("store", "damage in Redis was repaired",
              {{"why", std::string(why)}, {"repaired", std::to_string(repaired)}, {"findings", codes_of(*findings)}});
  } else {
    log_error("store", "damage in Redis could not be repaired",
              {{"why", std::string(why)},
               {findings ? "findings" : "error", findings ? codes_of(*findings) : to_string(findings.error())}});
  }
  const std::lock_guard lock(mend_mutex_);
  mending_helps_ = repaired > 0 || (!findings && findings.error().code == ErrorCode::kStoreUnavailable);
  return mending_helps_;
}

Result<std::int64_t> RedisStore::ask_number(const Command& command) {
  const auto reply = TRY(ask(command));
  return reply.as_integer();
}

Result<std::vector<TaskRecord>> RedisStore::records(const Command& command) {
  const auto reply = TRY(ask(command));
  const auto items = TRY(reply.as_array());
  return readable(items);
}

std::vector<TaskRecord> RedisStore::readable(std::span<const Reply> items) {
  std::vector<TaskRecord> found;
  found.reserve(items.size());
  for (const Reply& item : items) {
    if (const auto parts = item.as_array(); parts && !parts->empty()) add_readable(*parts, found);
  }
  return found;
}

bool RedisStore::add_readable(std::span<const Reply> parts, std::vector<TaskRecord>& found) {
  auto record = redis::to_record(parts);
  if (record) {
    found.push_back(*std::move(record));
    return true;
  }
  const std::string id(parts.front().as_text().value_or(""));
  log_error("store", "a task's record is unreadable and is put apart", {{"task", id}, {"why", record.error().message}});
  if (const auto apart = ask(function("quarantine").add(id)); !apart) {
    log_error("store", "it could not be put apart", {{"task", id}, {"error", to_string(apart.error())}});
  }
  return false;
}

Result<std::vector<TaskRecord>> RedisStore::relatives(std::string_view kind, const TaskId& id) {
  return records(function("relatives").add(kind, id.to_string()));
}

// ---- sweeping

Result<std::vector<TaskRecord>> RedisStore::lapsed(std::optional<Millis> silent_for, int limit) {
  return records(function("lapsed").add(silent_for ? std::to_string(silent_for->count()) : "", limit));
}

Result<std::optional<Millis>> RedisStore::next_wake() {
  const auto reply = TRY(ask(function("next_wake")));
  const auto text = TRY(reply.as_text());
  if (text.empty()) return std::nullopt;
  const auto millis = TRY(reply.as_integer());
  return Millis(millis);
}

Result<int> RedisStore::expire(const Retention& retention, int limit) {
  const auto millis = [](Time time) { return time.time_since_epoch().count(); };
  const auto gone = ask_number(function("expire").add(millis(retention.finished_until), retention.tasks_max,
                                                      retention.bytes_max, millis(retention.events_until),
                                                      retention.events_max, limit, retention.ledger_from));
  if (!gone) return std::unexpected(gone.error());
  if (*gone > 0) committed();
  return static_cast<int>(*gone);
}

// ---- waiting

void RedisStore::committed() {
  const std::lock_guard lock(change_mutex_);
  ++changes_;
  changed_.notify_all();
}

std::uint64_t RedisStore::changes() {
  const std::lock_guard lock(change_mutex_);
  return changes_;
}

void RedisStore::wait_for_change(std::uint64_t seen, Millis timeout) {
  const MonoTime until = system_clock().mono() + timeout;
  while (true) {
    {
      std::unique_lock lock(change_mutex_);
      const Millis left = std::min(kLookEvery, until - system_clock().mono());
      if (changed_.wait_for(lock, left, [&] { return changes_ != seen; })) return;
    }
    const auto reply = ask(function("changes"));
    const auto mark = reply ? reply->as_text() : std::unexpected(reply.error());
    const std::lock_guard lock(change_mutex_);
    if (mark && *mark != last_mark_) {
      last_mark_ = *mark;
      ++changes_;
      changed_.notify_all();
      return;
    }
    if (system_clock().mono() >= until) return;
  }
}

// Whether there was one.
bool RedisStore::wait_for_token(const std::string& list, Millis timeout, const std::stop_token& stop) {
  const Interrupt interrupt;
  const std::stop_callback raises(stop, [&] { interrupt.raise(); });
  const double seconds = static_cast<double>(timeout.count()) / 1000;
  const Command pop("BLPOP", list, fmt::format("{:.3f}", std::max(seconds, 0.001)));
  const auto token = client_.blocking_call(pop, timeout, interrupt);
  if (!token || token->is_nil()) return false;
  if (!token->is_error()) return true;
  mend(token->error_text());
  interrupt.wait(timeout);
  return false;
}

void RedisStore::wait_for_work(std::span<const Serve> serves, std::uint64_t seen, Millis timeout,
                               const std::stop_token& stop) {
  if (changes() != seen) return;
  if (wait_for_token(key(kTokensKey) + pool_of(lines_of(serves)), timeout, stop)) committed();
}

Result<SweepTurn> RedisStore::take_sweep_turn() {
  const bool was_woken = std::exchange(sweeper_woken_, false);
  const auto reply =
      TRY(ask(function("sweep_turn")
                  .add(sweeper_id_, was_woken ? "1" : "0", kSweeperRestMax.count(), kSweeperLateMax.count())));
  const auto parts = TRY(reply.as_array_of(2));
  const auto ours = TRY(parts[0].as_integer());
  const auto rest = TRY(parts[1].as_integer());
  return SweepTurn{.is_ours = ours != 0, .rest = Millis(rest)};
}

void RedisStore::wait_for_sweep(std::uint64_t /*seen*/, Millis timeout, const std::stop_token& stop) {
  if (timeout > kBlockLeaves) {
    sweeper_woken_ = wait_for_token(key(kSweepTokensKey), timeout - kBlockLeaves, stop);
    return;
  }
  const Interrupt interrupt;
  const std::stop_callback raises(stop, [&] { interrupt.raise(); });
  interrupt.wait(std::min(timeout, kNapMax));
}

void RedisStore::end_sweeping() {
  if (const auto ended = ask(function("end_sweeping").add(sweeper_id_)); !ended) {
    log_debug("store", "could not say that this process sweeps no more", {{"error", to_string(ended.error())}});
  }
}

}  // namespace drover::redis

namespace drover {

Result<std::unique_ptr<Store>> open_redis(RedisOptions options) {
  auto store = std::make_unique<redis::RedisStore>(std::move(options));
  TRY(store->open());
  return store;
}

}  // namespace drover
