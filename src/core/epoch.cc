#include "core/epoch.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"
#include "base/json.h"
#include "core/names.h"

namespace drover {
namespace {

constexpr Names<4> kCauses{"created", "restarted", "regressed", "accepted"};

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

}  // namespace drover
