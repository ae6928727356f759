#include "core/gate.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/json.h"
#include "base/planted_bug.h"
#include "base/text.h"
#include "base/try.h"
#include "core/gate_name.h"
#include "core/names.h"

namespace drover {

namespace {

constexpr Names<kHoldSourceCount> kSourceNames{"policy", "operator", "breaker", "provider"};
constexpr Names<3> kProviderStateNames{"open", "closed", "ramping"};
constexpr Names<9> kReasonNames{"running", "ended",   "blocked",   "question",       "scheduled",
                                "gate",    "in_line", "no_worker", "store_regressed"};
constexpr int kSessionPermits = 1;
constexpr std::int64_t kRateUnitsMax = 1'000'000;
constexpr Millis kRatePerMax = std::chrono::days(31);

std::int64_t micros(Time time) {
  return time.time_since_epoch().count() * 1'000;
}

// Rounded up: nobody is let in early.
Time time_of(std::int64_t at_us) {
  return Time(Millis((at_us + 999) / 1'000));
}

// Until when the rate's units are spent. A clock that was set back must not close a gate for longer than its burst.
std::int64_t spent_until(const GateLimits& limits, std::int64_t rate_at_us, std::int64_t now_us) {
  return std::clamp(rate_at_us, now_us, now_us + limits.interval_us * limits.burst);
}

GateVerdict ask_rate(const GateLimits& limits, const GateUse& use, std::int64_t cost, Time now) {
  const std::int64_t now_us = micros(now);
  const std::int64_t spent = spent_until(limits, use.rate_at_us, now_us);
  const std::int64_t span = limits.interval_us * limits.burst;
  const std::int64_t units = (now_us + span - spent) / limits.interval_us;
  if (units >= cost) return {.room = units / cost, .look_again = std::nullopt};
  return {.room = 0, .look_again = time_of(spent + cost * limits.interval_us - span)};
}

// Waits for the next period; a run that ends with something left, or a raise, comes first.
GateVerdict ask_budgets(const GateLimits& limits, const BudgetUse& use, const BudgetAmounts& per_run) {
  GateVerdict verdict{.room = kRoomMax, .look_again = std::nullopt};
  for (std::size_t i = 0; i < limits.budgets.size(); ++i) {
    const BudgetLimit& budget = limits.budgets[i];
    const std::int64_t room = runs_within(use.left(limits.budgets, i), amount_in(per_run, budget.unit));
    verdict.room = std::min(verdict.room, room);
    if (room == 0 && budget.resets_at) {
      verdict.look_again = std::max(verdict.look_again.value_or(*budget.resets_at), *budget.resets_at);
    }
  }
  return verdict;
}

void use_budgets(const GateLimits& limits, BudgetUse& use, const BudgetAmounts& per_run, std::int64_t count) {
  std::array<bool, kBudgetUnitCount> is_counted{};
  for (const BudgetLimit& budget : limits.budgets) {
    bool& counted = is_counted[std::to_underlying(budget.unit)];
    if (!counted) amount_in(use.aside, budget.unit) += count * amount_in(per_run, budget.unit);
    counted = true;
  }
}

// ---- JSON

void write_time(json::Writer& out, std::string_view key, Time time) {
  out.key(key).number(time.time_since_epoch().count());
}

std::optional<Time> read_time(const json::Value& object, std::string_view key) {
  const json::Value* value = object.find(key);
  const auto number = value != nullptr ? value->as_int() : std::nullopt;
  return number ? std::optional(Time(Millis(*number))) : std::nullopt;
}

std::optional<std::int64_t> read_number(const json::Value& object, std::string_view key) {
  const json::Value* value = object.find(key);
  return value != nullptr ? value->as_int() : std::nullopt;
}

std::string read_text(const json::Value& object, std::string_view key) {
  const json::Value* value = object.find(key);
  const std::string* text = value != nullptr ? value->as_string() : nullptr;
  return text != nullptr ? *text : std::string();
}

void write_hold(json::Writer& out, const Hold& hold) {
  out.begin_object().key("source").string(name_of(hold.source));
  if (hold.closed_until) write_time(out, "closed_until", *hold.closed_until);
  if (hold.permits) out.key("permits").number(*hold.permits);
  out.key("why").string(hold.why).key("by").string(hold.by);
  write_time(out, "since", hold.since);
  out.end_object();
}

std::optional<Hold> read_hold(const json::Value& value) {
  const auto source = parse_hold_source(read_text(value, "source"));
  if (!source) return std::nullopt;
  Hold hold{.source = *source};
  hold.closed_until = read_time(value, "closed_until");
  if (const auto permits = read_number(value, "permits")) hold.permits = static_cast<int>(*permits);
  hold.why = read_text(value, "why");
  hold.by = read_text(value, "by");
  hold.since = read_time(value, "since").value_or(Time{});
  return hold;
}

void write_budget(json::Writer& out, const GateBudget& one) {
  out.begin_object().key("unit").string(name_of(one.budget.unit)).key("limit").number(one.budget.limit);
  out.key("per").string(name_of(one.budget.per)).key("zone").string(one.budget.zone);
  out.key("on_breach").string(name_of(one.budget.on_breach)).key("period").string(one.period.id);
  if (one.period.ends_at) write_time(out, "resets_at", *one.period.ends_at);
  if (one.raised > 0) out.key("raised").number(one.raised);
  if (one.breached) out.key("breached").boolean(true);
  out.end_object();
}

bool read_flag(const json::Value& object, std::string_view key) {
  const json::Value* value = object.find(key);
  return value != nullptr && value->as_bool() != nullptr && *value->as_bool();
}

std::optional<GateBudget> read_budget(const json::Value& value) {
  const auto unit = parse_budget_unit(read_text(value, "unit"));
  const auto limit = read_number(value, "limit");
  const auto per = parse_budget_per(read_text(value, "per"));
  const auto on_breach = parse_on_breach(read_text(value, "on_breach"));
  if (!unit || !limit || !per || !on_breach) return std::nullopt;
  return GateBudget{.budget = {.unit = *unit,
                               .limit = *limit,
                               .per = *per,
                               .zone = read_text(value, "zone"),
                               .on_breach = *on_breach},
                    .period = {.id = read_text(value, "period"), .ends_at = read_time(value, "resets_at")},
                    .raised = read_number(value, "raised").value_or(0),
                    .breached = read_flag(value, "breached")};
}

bool read_budgets(const json::Value& gate, GateRecord& out) {
  if (const json::Value* budgets = gate.find("budgets"); budgets != nullptr && budgets->as_array() != nullptr) {
    for (const json::Value& item : *budgets->as_array()) {
      auto budget = read_budget(item);
      if (!budget) return false;
      out.budgets.push_back(*std::move(budget));
    }
  }
  const json::Value* per_run = gate.find("per_run");
  if (per_run == nullptr || per_run->as_array() == nullptr) return true;
  for (std::size_t i = 0; i < out.per_run.size() && i < per_run->as_array()->size(); ++i) {
    out.per_run[i] = (*per_run->as_array())[i].as_int().value_or(0);
  }
  return true;
}

}  // namespace

std::string_view name_of(HoldSource source) {
  return name_in(kSourceNames, source);
}
std::optional<HoldSource> parse_hold_source(std::string_view name) {
  return value_in<HoldSource>(kSourceNames, name);
}
std::string_view name_of(ProviderState::State state) {
  return name_in(kProviderStateNames, state);
}
std::optional<ProviderState::State> parse_provider_state(std::string_view name) {
  return value_in<ProviderState::State>(kProviderStateNames, name);
}
std::string_view name_of(Explanation::Reason reason) {
  return name_in(kReasonNames, reason);
}

Result<Rate> parse_rate(std::string_view text) {
  const auto bad = [&] {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("a rate is written like 60/min, 5/s, 1000/h or 100/10s, not {}", quoted_excerpt(text)));
  };
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) return bad();
  Rate rate;
  const auto [end, error] = std::from_chars(text.data(), text.data() + slash, rate.units);
  if (error != std::errc{} || end != text.data() + slash || rate.units < 1 || rate.units > kRateUnitsMax) return bad();
  std::string per(text.substr(slash + 1));
  if (per == "min") per = "m";
  if (!per.empty() && (per[0] < '0' || per[0] > '9')) per.insert(0, "1");
  const auto duration = parse_duration(per);
  if (!duration || *duration <= Millis{0} || *duration > kRatePerMax) return bad();
  rate.per = *duration;
  return rate;
}

std::string to_string(const Rate& rate) {
  return fmt::format("{}/{}", rate.units, format_duration(rate.per));
}

Status check_rate(const Rate& rate) {
  if (rate.per.count() * rate.burst / rate.units <= kDurationMax.count()) return {};
  return fail(ErrorCode::kInvalidArgument, fmt::format("a burst of {} at {} takes longer than {} to come back",
                                                       rate.burst, to_string(rate), format_duration(kDurationMax)));
}

GateLimits limits_of(const GateRecord& gate) {
  GateLimits limits;
  for (const Hold& hold : gate.holds) {
    if (hold.closed_until)
      limits.closed_until = std::max(limits.closed_until.value_or(Time::min()), *hold.closed_until);
    if (!hold.permits || (limits.permits && *limits.permits <= *hold.permits)) continue;
    limits.permits = hold.permits;
    // The breaker's one permit is for the probe, and a provider's are for runs since it opened: what ran before does
    // not count.
    const bool is_trial = hold.source == HoldSource::kBreaker || hold.source == HoldSource::kProvider;
    limits.counted_from = is_trial && hold.closed_until ? *hold.closed_until : Time{};
  }
  // Whatever else it is told.
  if (is_session_gate(gate.name) && !planted(PlantedBug::kSessionForTwo)) {
    limits.permits = std::min(limits.permits.value_or(kSessionPermits), kSessionPermits);
  }
  if (gate.rate) {
    limits.interval_us = std::max<std::int64_t>(1, gate.rate->per.count() * 1'000 / gate.rate->units);
    limits.burst = gate.rate->burst;
  }
  for (const GateBudget& one : gate.budgets) {
    limits.budgets.push_back({.unit = one.budget.unit,
                              .limit = one.budget.limit + one.raised,
                              .period = one.period.id,
                              .resets_at = one.period.ends_at});
  }
  limits.per_run = gate.per_run;
  return limits;
}

bool is_default(const GateRecord& gate) {
  return gate.holds.empty() && !gate.rate && gate.breaker == BreakerCount{} && gate.ramp == ProviderRamp{} &&
         !gate.session && gate.budgets.empty() && gate.per_run == BudgetAmounts{};
}

bool is_shut(const GateStatus& gate) {
  return gate.closed_until || gate.permits == 0 ||
         std::ranges::find(gate.holds, HoldSource::kBreaker, &Hold::source) != gate.holds.end();
}

const Hold* find_hold(const GateRecord& gate, HoldSource source) {
  const auto found = std::ranges::find(gate.holds, source, &Hold::source);
  return found != gate.holds.end() ? &*found : nullptr;
}

void drop_hold(GateRecord& gate, HoldSource source) {
  std::erase_if(gate.holds, [&](const Hold& hold) { return hold.source == source; });
}

void set_hold(GateRecord& gate, Hold hold) {
  drop_hold(gate, hold.source);
  gate.holds.push_back(std::move(hold));
  std::ranges::sort(gate.holds, {}, &Hold::source);
}

GateVerdict ask_gate(const GateLimits& limits, const GateUse& use, std::int64_t cost, Time now,
                     const BudgetAmounts& per_run) {
  if (limits.closed_until && now < *limits.closed_until) {
    if (*limits.closed_until == kUntilOpened) return {};
    return {.room = 0, .look_again = limits.closed_until};
  }
  GateVerdict verdict{.room = kRoomMax, .look_again = std::nullopt};
  if (limits.permits) {
    verdict.room = std::min(verdict.room, *limits.permits - use.in_use);
    if (verdict.room <= 0) return {};
  }
  if (limits.interval_us > 0) {
    const GateVerdict rate = ask_rate(limits, use, cost, now);
    if (rate.room == 0) return rate;
    verdict.room = std::min(verdict.room, rate.room);
  }
  if (!limits.budgets.empty()) {
    const GateVerdict budgets = ask_budgets(limits, use.budgets, per_run);
    if (budgets.room == 0) return budgets;
    verdict.room = std::min(verdict.room, budgets.room);
  }
  return verdict;
}

GateUse use_gate(const GateLimits& limits, GateUse use, std::int64_t cost, std::int64_t count, Time now,
                 const BudgetAmounts& per_run) {
  if (limits.permits) use.in_use += count;
  if (limits.interval_us > 0) {
    use.rate_at_us = spent_until(limits, use.rate_at_us, micros(now)) + cost * count * limits.interval_us;
  }
  if (!limits.budgets.empty()) use_budgets(limits, use.budgets, per_run, count);
  return use;
}

JsonText gate_to_json(const GateRecord& gate) {
  json::Writer out;
  out.begin_object().key("holds").begin_array();
  for (const Hold& hold : gate.holds) write_hold(out, hold);
  out.end_array();
  if (gate.rate) {
    out.key("rate").begin_object().key("units").number(gate.rate->units).key("per_ms").number(gate.rate->per.count());
    out.key("burst").number(gate.rate->burst).end_object();
  }
  if (gate.breaker.failures > 0) {
    out.key("failures").number(gate.breaker.failures);
    write_time(out, "first_failure_at", gate.breaker.first_at);
  }
  if (gate.ramp != ProviderRamp{}) {
    write_time(out, "cut_at", gate.ramp.cut_at);
    write_time(out, "opens_at", gate.ramp.opens_at);
    out.key("goal").number(gate.ramp.goal).key("pause_ms").number(gate.ramp.pause.count());
  }
  if (gate.session) out.key("session").string(*gate.session);
  if (!gate.budgets.empty()) {
    out.key("budgets").begin_array();
    for (const GateBudget& budget : gate.budgets) write_budget(out, budget);
    out.end_array();
  }
  if (gate.per_run != BudgetAmounts{}) {
    out.key("per_run").begin_array();
    for (const std::int64_t amount : gate.per_run) out.number(amount);
    out.end_array();
  }
  out.end_object();
  return std::move(out).take();
}

Result<GateRecord> gate_from_json(std::string_view json) {
  const auto value = TRY(json::parse(json));
  const auto unreadable = [] { return fail(ErrorCode::kStoreDamaged, "a gate's record cannot be read"); };
  GateRecord gate;
  const json::Value* holds = value.find("holds");
  if (holds == nullptr || holds->as_array() == nullptr) return unreadable();
  for (const json::Value& item : *holds->as_array()) {
    auto hold = read_hold(item);
    if (!hold) return unreadable();
    gate.holds.push_back(*std::move(hold));
  }
  if (const json::Value* rate = value.find("rate")) {
    const auto units = read_number(*rate, "units");
    const auto per = read_number(*rate, "per_ms");
    const auto burst = read_number(*rate, "burst");
    if (!units || !per || !burst || *units < 1) return unreadable();
    gate.rate = Rate{*units, Millis(*per), *burst};
  }
  gate.breaker.failures = static_cast<int>(read_number(value, "failures").value_or(0));
  gate.breaker.first_at = read_time(value, "first_failure_at").value_or(Time{});
  gate.ramp = {.cut_at = read_time(value, "cut_at").value_or(Time{}),
               .opens_at = read_time(value, "opens_at").value_or(Time{}),
               .goal = static_cast<int>(read_number(value, "goal").value_or(0)),
               .pause = Millis(read_number(value, "pause_ms").value_or(0))};
  if (std::string session = read_text(value, "session"); !session.empty()) gate.session = std::move(session);
  if (!read_budgets(value, gate)) return unreadable();
  return gate;
}

}  // namespace drover
