// Looking at the store's clocks: what retention believes, and steps of the wall clock while tasks end.
#include <algorithm>

#include "base/log.h"
#include "base/try.h"
#include "engine/engine.h"

namespace drover {
namespace {

constexpr Millis kLookEvery{30'000};  // so that those who look next have something to compare with

}  // namespace

// Of several processes that look at the same time one writes; they all see the same.
Result<BelievedTime> Engine::look_at_clocks(const StoreClocks& clocks) {
  const auto policy = TRY(this->policy());
  const Millis kept_for = std::max(policy->limits.retention, policy->limits.event_retention);
  const auto document = TRY(store_.document(DocumentKind::kBelievedTime));
  const auto before = parse_believed_time(document.text);
  if (!before && document.version > 0)
    log_error("engine", "cannot read the last trusted time; nothing is deleted by age for an hour",
              {{"error", to_string(before.error())}});
  BelievedTime next;
  if (before) {
    next = look(*before, clocks, kept_for);
    const bool is_news = step_between(before->seen, clocks) != Millis{0} || clocks.boot != before->seen.boot ||
                         clocks.steady - before->seen.steady >= kLookEvery;
    if (!is_news) return next;
  } else {
    const auto last_event = TRY(store_.last_event_seq());
    next = look(first_look(clocks, last_event == 0 ? FirstLook::kEmpty : FirstLook::kInUse), clocks, kept_for);
  }
  TRY(store_.put_document(DocumentKind::kBelievedTime, to_json(next), document.version, {}));
  return next;
}

// A step must be on record before anything ends in the time after it, or retention would take the end at its word.
Result<Time> Engine::time_of_end() {
  const auto clocks = TRY(store_.clocks());
  {
    const std::lock_guard lock(clocks_mutex_);
    const bool is_news = !last_clocks_ || step_between(*last_clocks_, clocks) != Millis{0};
    last_clocks_ = clocks;
    if (!is_news) return clocks.wall;
  }
  TRY(look_at_clocks(clocks));
  return clocks.wall;
}

}  // namespace drover
