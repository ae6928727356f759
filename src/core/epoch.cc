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
  } else if (seen.number < epochs.front().number && epochs.front().cause != Epoch::Cause::kCreated) {
    return extent.seq;  // so old that it is not listed any more
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

}  // namespace drover
