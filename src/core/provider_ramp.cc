#include "core/provider_ramp.h"

#include <algorithm>

#include "base/json.h"
#include "base/json_reader.h"
#include "base/planted_bug.h"
#include "base/try.h"
#include "core/gate_name.h"

namespace drover {
namespace {

// How long the gate stays closed when the provider does not say: doubled from cut to cut.
constexpr Millis kPauseFirst{15'000};
constexpr Millis kPauseMax{5 * 60'000};
// A provider that says "at once" has just refused.
constexpr Millis kPauseMin{1'000};
// What a program says of a wait is believed up to here. A quota names the time of its reset.
constexpr Millis kSaidPauseMax{24 * 3'600'000};
// After that long without a cut nothing is left of it.
constexpr Millis kQuiet{10 * 60'000};

Millis pause_after(const ProviderThrottle& throttle, Millis last) {
  if (!throttle.retry_after) return last == Millis{0} ? kPauseFirst : std::min(2 * last, kPauseMax);
  const Millis most = throttle.error_class == ErrorClass::kQuotaExhausted ? kDurationMax : kSaidPauseMax;
  return std::clamp(*throttle.retry_after, kPauseMin, most);
}

int permits_of(const GateRecord& gate, HoldSource source) {
  const Hold* hold = find_hold(gate, source);
  return hold != nullptr ? hold->permits.value_or(0) : 0;
}

// What others allow at once; 0: any number.
int allowed_otherwise(const GateRecord& gate) {
  const int policy = permits_of(gate, HoldSource::kPolicy);
  const int by_hand = permits_of(gate, HoldSource::kOperator);
  if (policy == 0 || by_hand == 0) return std::max(policy, by_hand);
  return std::min(policy, by_hand);
}

bool is_quiet(const GateRecord& gate, Time now) {
  return now - gate.ramp.opens_at >= kQuiet;
}

// A quota's reset is known to be right, also if it comes late: the latest wins.
RampChange stay_closed(GateRecord& gate, const ProviderThrottle& throttle, Time now) {
  const Hold* hold = find_hold(gate, HoldSource::kProvider);
  if (throttle.error_class != ErrorClass::kQuotaExhausted || !throttle.retry_after || hold == nullptr) {
    return RampChange::kNone;
  }
  const Time opens_at = now + std::min(*throttle.retry_after, kDurationMax);
  if (opens_at <= gate.ramp.opens_at) return RampChange::kNone;
  gate.ramp.opens_at = opens_at;
  Hold longer = *hold;
  longer.closed_until = opens_at;
  longer.permits = 1;
  set_hold(gate, std::move(longer));
  return RampChange::kExtended;
}

}  // namespace

RampChange cut_provider(GateRecord& gate, const Refused& refused, Time now) {
  const bool is_late = gate.ramp.cut_at != Time{} && refused.started_at <= gate.ramp.cut_at;
  if (is_late && !planted(PlantedBug::kLateRefusalCuts)) return stay_closed(gate, refused.throttle, now);
  const Millis last = is_quiet(gate, now) ? Millis{0} : gate.ramp.pause;
  const Millis pause = pause_after(refused.throttle, last);
  const int goal = static_cast<int>(std::clamp<std::int64_t>(refused.running / 2, 1, kRoomMax));
  gate.ramp = {
      .cut_at = now, .opens_at = now + pause, .goal = goal, .pause = refused.throttle.retry_after ? last : pause};
  set_hold(gate, Hold{.source = HoldSource::kProvider,
                      .closed_until = gate.ramp.opens_at,
                      .permits = 1,
                      .why = refused.why,
                      .by = refused.by,
                      .since = now});
  return RampChange::kCut;
}

RampChange widen_provider(GateRecord& gate, Time started_at, Time now) {
  const Hold* hold = find_hold(gate, HoldSource::kProvider);
  if (hold == nullptr || started_at < gate.ramp.opens_at) return RampChange::kNone;
  const int permits = hold->permits.value_or(1);
  const int wider = permits < gate.ramp.goal ? std::min(2 * permits, gate.ramp.goal) : permits + 1;
  const int allowed = allowed_otherwise(gate);
  if (is_quiet(gate, now) || (allowed > 0 && wider >= allowed)) {
    drop_hold(gate, HoldSource::kProvider);
    return RampChange::kRecovered;
  }
  Hold next = *hold;
  next.permits = wider;
  set_hold(gate, std::move(next));
  return RampChange::kWidened;
}

ProviderState provider_state(const GateStatus& gate) {
  ProviderState provider{.name = std::string(subject_of(gate.name, GateKind::kProvider).value_or(gate.name)),
                         .permits = gate.permits};
  if (gate.closed_until) {
    provider.state = ProviderState::State::kClosed;
    if (*gate.closed_until != kUntilOpened) provider.resumes_at = gate.closed_until;
  } else if (std::ranges::find(gate.holds, HoldSource::kProvider, &Hold::source) != gate.holds.end()) {
    provider.state = ProviderState::State::kRamping;
  }
  return provider;
}

std::string to_json(const ProviderState& provider) {
  json::Writer out;
  out.begin_object().key("name").string(provider.name).key("state").string(name_of(provider.state)).key("resumes_at");
  provider.resumes_at ? out.string(format_time(*provider.resumes_at)) : out.null();
  out.key("permits");
  provider.permits ? out.number(*provider.permits) : out.null();
  out.end_object();
  return std::move(out).take();
}

Status read_json(std::string_view json, ProviderState& out) {
  json::Reader in(json);
  std::string state;
  in.need("name", out.name).need("state", state).get("resumes_at", out.resumes_at).get("permits", out.permits);
  TRY(in.finish());
  const auto known = parse_provider_state(state);
  if (!known) return fail(ErrorCode::kInvalidArgument, "state: expected open, closed or ramping");
  out.state = *known;
  return {};
}

}  // namespace drover
