#include "core/breaker.h"

#include <fmt/format.h>

#include "core/run_report.h"

namespace drover {

namespace {

bool is_bad(ErrorClass error_class) {
  return error_class == ErrorClass::kAgentError || error_class == ErrorClass::kTimeout ||
         error_class == ErrorClass::kKilled || error_class == ErrorClass::kSpawnFailed;
}

void open_breaker(GateRecord& gate, const BreakerPolicy& policy, std::string why, Time now) {
  gate.breaker = {};
  set_hold(gate, Hold{.source = HoldSource::kBreaker,
                      .closed_until = now + policy.open,
                      .permits = 1,
                      .why = std::move(why),
                      .by = "breaker",
                      .since = now});
}

}  // namespace

RunVerdict verdict_of(const Settlement& settlement, const TypePolicy& type) {
  if (std::holds_alternative<Completion>(settlement.end)) {
    return why_unverified(type.verify, settlement.report.evidence) ? RunVerdict::kNeither : RunVerdict::kGood;
  }
  if (std::holds_alternative<Suspend>(settlement.end)) return RunVerdict::kGood;
  const auto* failure = std::get_if<Failure>(&settlement.end);
  return failure != nullptr && is_bad(failure->error_class) ? RunVerdict::kBad : RunVerdict::kNeither;
}

BreakerChange feed_breaker(GateRecord& gate, const BreakerPolicy& policy, RunVerdict verdict, Time started_at,
                           Time now) {
  if (verdict == RunVerdict::kNeither) return BreakerChange::kNone;
  if (const Hold* open = find_hold(gate, HoldSource::kBreaker)) {
    // Runs from before the opening say nothing new.
    if (started_at < *open->closed_until) return BreakerChange::kNone;
    if (verdict == RunVerdict::kGood) {
      drop_hold(gate, HoldSource::kBreaker);
      return BreakerChange::kClosed;
    }
    open_breaker(gate, policy, "its probe failed", now);
    return BreakerChange::kReopened;
  }
  if (policy.failures == 0) return BreakerChange::kNone;
  if (verdict == RunVerdict::kGood) {
    if (gate.breaker.failures == 0) return BreakerChange::kNone;
    gate.breaker = {};
    return BreakerChange::kCounted;
  }
  BreakerCount& count = gate.breaker;
  if (count.failures == 0 || now - count.first_at > policy.window) count = {.failures = 0, .first_at = now};
  ++count.failures;
  if (count.failures < policy.failures) return BreakerChange::kCounted;
  open_breaker(gate, policy, fmt::format("{} failures in a row", count.failures), now);
  return BreakerChange::kOpened;
}

}  // namespace drover
