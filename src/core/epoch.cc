#include "core/epoch.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/check.h"
#include "base/json.h"
#include "core/names.h"

namespace drover {
namespace {

constexpr Names<5> kCauses{"created", "restarted", "regressed", "accepted", "restored"};
constexpr std::size_t kIdCharsMax = 16;
constexpr std::size_t kEpochsMax = 1'001;                   // that a store keeps: the first one and the latest thousand
constexpr std::int64_t kNumberMax = 1'000'000'000'000'000;  // exact in Lua, with room to count on

// Ids become names of files.
bool is_epoch_id(std::string_view text) {
  return !text.empty() && text.size() <= kIdCharsMax &&
         text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

std::string_view cut(std::string_view& text) {
  const std::string_view word = text.substr(0, text.find(':'));
  text.remove_prefix(std::min(text.size(), word.size() + 1));
  return word;
}

std::optional<std::int64_t> parse_count(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool is_whole = error == std::errc() && end == text.data() + text.size();
  return is_whole && value >= 0 ? std::optional(value) : std::nullopt;
}

// The last event that is left of what the seen epoch had, or of what was before it.
std::int64_t last_kept(const StoreExtent& extent, const Mark& seen) {
  const auto& epochs = extent.epochs;
  auto next = std::ranges::find(epochs, seen.epoch, &Epoch::id);
  if (next != epochs.end()) {
    ++next;
  } else {
    next = std::ranges::find_if(epochs, [&](const Epoch& epoch) { return epoch.number >= seen.number; });
  }
  return next == epochs.end() ? extent.seq : next->after;
}

}  // namespace

std::string_view name_of(Epoch::Cause cause) {
  return name_in(kCauses, cause);
}

std::optional<Epoch::Cause> parse_epoch_cause(std::string_view name) {
  return value_in<Epoch::Cause>(kCauses, name);
}

std::string to_string(const StoreMark& mark) {
  return fmt::format("{}:{}:{}:{}", mark.store, mark.mark.epoch, mark.mark.number, mark.mark.seq);
}

std::optional<StoreMark> parse_store_mark(std::string_view text) {
  const std::string_view store = cut(text);
  const std::string_view epoch = cut(text);
  const auto number = parse_count(cut(text));
  const auto seq = parse_count(text);
  if (!is_epoch_id(store) || !is_epoch_id(epoch) || !number || *number == 0 || !seq) return std::nullopt;
  return StoreMark{std::string(store), {*number, std::string(epoch), *seq}};
}

std::string to_string(const Loss& loss) {
  return loss.first == loss.last ? fmt::format("event {}", loss.last)
                                 : fmt::format("events {} to {}", loss.first, loss.last);
}

JsonText acceptance_data(const std::optional<Loss>& loss) {
  json::Writer writer;
  writer.begin_object();
  if (loss) writer.key("lost_from").number(loss->first).key("lost_to").number(loss->last);
  writer.end_object();
  return std::move(writer).take();
}

std::optional<Loss> find_loss(const StoreExtent& extent, const Mark& seen) {
  CHECK(!extent.epochs.empty());
  if (seen.number == 0) return std::nullopt;
  const std::int64_t kept = last_kept(extent, seen);
  if (kept >= seen.seq) return std::nullopt;
  return Loss{kept + 1, seen.seq};
}

bool is_accepted(const StoreExtent& extent, const Mark& seen) {
  return std::ranges::any_of(extent.epochs, [&](const Epoch& epoch) {
    return epoch.cause == Epoch::Cause::kAccepted && epoch.number > seen.number;
  });
}

bool reveals_loss(const StoreExtent& extent, const StoreMark& told) {
  const bool is_of_it = extent.epochs.front().id == told.store ||
                        std::ranges::find(extent.epochs, told.mark.epoch, &Epoch::id) != extent.epochs.end();
  return is_of_it && find_loss(extent, told.mark) && !is_accepted(extent, told.mark);
}

std::vector<Epoch> join_epochs(const StoreExtent& dumped, std::span<const Epoch> own) {
  std::vector<Epoch> joined = dumped.epochs;
  for (Epoch epoch : own) {
    const bool is_dumped = std::ranges::find(dumped.epochs, epoch.id, &Epoch::id) != dumped.epochs.end();
    if (is_dumped) continue;  // the store took a dump of itself
    epoch.number = std::max(epoch.number, joined.back().number + 1);
    epoch.after += dumped.seq;
    joined.push_back(std::move(epoch));
  }
  return joined;
}

Status check_extent(const StoreExtent& extent) {
  const auto refuse = [](const char* why) { return fail(ErrorCode::kInvalidArgument, why); };
  if (extent.epochs.empty() || extent.epochs.size() > kEpochsMax) return refuse("a store has 1 to 1001 epochs");
  std::int64_t number = 0;
  for (const Epoch& epoch : extent.epochs) {
    if (!is_epoch_id(epoch.id)) return refuse("the id of an epoch is 1 to 16 hexadecimal digits");
    if (epoch.number <= number || epoch.number > kNumberMax) return refuse("the numbers of epochs grow");
    if (epoch.after < 0 || epoch.after > kNumberMax) return refuse("an epoch begins after an event");
    number = epoch.number;
  }
  if (extent.seq < 0 || extent.seq > kNumberMax) return refuse("last_event is the number of an event");
  return {};
}

}  // namespace drover
