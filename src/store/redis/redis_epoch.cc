// Whether Redis is still where it has been. See docs/internals/store-epochs.md.
#include <fmt/format.h>

#include <memory>
#include <sstream>

#include "base/log.h"
#include "base/sha256.h"
#include "base/try.h"
#include "store/redis/redis_store_class.h"

namespace drover::redis {
namespace {

// "number id after cause server"
Result<Epoch> parse_epoch(std::string_view text) {
  std::istringstream words{std::string(text)};
  Epoch epoch;
  std::string cause;
  words >> epoch.number >> epoch.id >> epoch.after >> cause;
  const auto parsed = parse_epoch_cause(cause);
  if (!words || !parsed)
    return fail(ErrorCode::kStoreDamaged, fmt::format("unreadable epoch: {}", text), "redis.epochs");
  epoch.cause = *parsed;
  return epoch;
}

Result<StoreExtent> parse_extent(const Reply& reply) {
  const auto items = TRY(reply.as_array());
  if (items.size() < 2) return fail(ErrorCode::kStoreDamaged, "Redis names no epoch", "redis.epochs");
  StoreExtent extent;
  extent.seq = TRY(items.front().as_integer());
  for (const Reply& item : items.subspan(1)) {
    const auto text = TRY(item.as_text());
    auto epoch = TRY(parse_epoch(text));
    extent.epochs.push_back(std::move(epoch));
  }
  return extent;
}

}  // namespace

Command RedisStore::ask_epochs(const Mark& seen, const JsonText& acceptance) const {
  return function("epochs").add(seen.number, seen.epoch, seen.seq, acceptance);
}

// A fresh connection may be one to a server that has lost something.
Status RedisStore::look(Connection& connection, const Patience& patience) {
  const Mark seen = high_water_.seen();
  const auto reply = TRY(connection.call(ask_epochs(seen, ""), patience));
  // Damage that keeps us from looking is for those to mend whose calls come upon it.
  const auto extent = parse_extent(reply);
  if (extent) high_water_.look(seen, *extent);
  return {};
}

// With every batch: what is acknowledged and not known here could be lost unnoticed.
ClientOptions RedisStore::watched(ClientOptions options) {
  const auto before = std::make_shared<Mark>();  // of whoever leads that client
  options.watch = BatchWatch{.question = Command("HMGET", key(kSeqKey), "epoch", "event"),
                             .sending = [this, before] { *before = high_water_.seen(); },
                             .judge = [this, before](const Reply& answer) { return judge(*before, answer); }};
  return options;
}

BatchWatch::Verdict RedisStore::judge(const Mark& before, const Reply& answer) {
  const auto parts = answer.as_array_of(2);
  if (!parts) return BatchWatch::Verdict::kFine;  // damaged: whoever needs it finds out
  const std::string_view epoch = (*parts)[0].is_nil() ? std::string_view() : (*parts)[0].as_text().value_or("");
  const std::int64_t seq = (*parts)[1].is_nil() ? 0 : (*parts)[1].as_integer().value_or(0);
  return high_water_.saw(before, epoch, seq) ? BatchWatch::Verdict::kFine : BatchWatch::Verdict::kPrepareAgain;
}

// While something is gone, any call tells whether it has been accepted meanwhile.
Status RedisStore::check_extent() {
  if (!high_water_.loss()) return {};
  TRY(ask_clocks());
  return high_water_.check();
}

Result<StoreState> RedisStore::state() {
  const Mark seen = high_water_.seen();
  const auto reply = TRY(ask(ask_epochs(seen, "")));
  auto extent = TRY(parse_extent(reply));
  high_water_.look(seen, extent);
  auto missing = TRY(this->missing());
  return StoreState{std::move(extent), high_water_.loss(), std::move(missing)};
}

Result<bool> RedisStore::hear(const StoreMark& told) {
  if (high_water_.covers(told.mark)) return false;
  const auto now = TRY(state());
  if (now.loss || !reveals_loss(now.extent, told)) return now.loss.has_value();
  const auto reply = ask(ask_epochs(told.mark, ""));  // ends the epoch in which it was lost
  if (!reply) return std::unexpected(reply.error());
  const auto extent = TRY(parse_extent(*reply));
  high_water_.look(told.mark, extent);
  return true;
}

Result<StoreState> RedisStore::accept_regression() {
  const auto before = state();
  if (!before) return before;
  const auto reply = TRY(ask(ask_epochs(high_water_.seen(), acceptance_data(before->loss))));
  auto extent = TRY(parse_extent(reply));
  high_water_.look(high_water_.seen(), extent);
  committed();
  return StoreState{std::move(extent), before->loss};
}

Result<bool> RedisStore::restore_epochs(std::span<const Epoch> epochs) {
  Command command = function("restore_epochs").add(epochs.back().id, epochs.back().number);
  for (const Epoch& epoch : epochs) {
    command.add(fmt::format("{} {} {} {} unknown", epoch.number, epoch.id, epoch.after, name_of(epoch.cause)));
  }
  const auto done = TRY(ask_number(command));
  committed();
  return done != 0;
}

}  // namespace drover::redis

namespace drover {

std::string default_mark_path(const redis::Address& address) {
  const std::string folder = default_marks_folder();
  return folder.empty() ? folder : fmt::format("{}/{}", folder, sha256_hex(to_string(address)).substr(0, 32));
}

}  // namespace drover
