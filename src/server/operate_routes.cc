// Gates, queues, policy, dead letters and numbers.
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <iterator>

#include "base/text.h"
#include "core/gate_name.h"
#include "core/ledger.h"
#include "core/page_limit.h"
#include "server/api.h"
#include "wire/filter_query.h"

namespace drover::server {
namespace {

constexpr int kHistoryShown = 60;
constexpr int kPastAlertsShown = 100;

std::optional<GateKind> parse_gate_kind(std::string_view word) {
  const auto kind = std::ranges::find(kGateKinds, word, &GateKindInfo::word);
  return kind == kGateKinds.end() ? std::nullopt : std::optional(static_cast<GateKind>(kind - kGateKinds.begin()));
}

Error unknown_kind(std::string_view word) {
  std::vector<std::string_view> words;
  std::ranges::transform(kGateKinds, std::back_inserter(words), &GateKindInfo::word);
  return {ErrorCode::kInvalidArgument,
          fmt::format("kind: expected one of {}, not {}", fmt::join(words, ", "), quoted_excerpt(word)),
          {}};
}

bool is_of_kind(std::string_view gate, std::string_view word) {
  const auto name = parse_gate_name(gate);
  return name && info_of(name->kind).word == word;
}

// ?kind=queue&owner=O&limit=N&cursor=NAME, by name.
Answer gates(const Call& call) {
  if (const Status known = call.only({"kind", "owner", "limit", "cursor"}); !known) return problem(known.error());
  const auto limit = call.number("limit", kPageMax, kPageMax);
  if (!limit) return problem(limit.error());
  if (const Status good = check_page_limit(static_cast<int>(*limit)); !good) return problem(good.error());
  const auto kind = call.parameter("kind");
  if (kind && !parse_gate_kind(*kind)) return problem(unknown_kind(*kind));
  const auto owner = call.parameter("owner");
  auto gates = owner ? call.queue.owner_gates(*owner) : call.queue.gates();
  if (!gates) return problem(gates.error());
  const auto cursor = call.parameter("cursor");
  std::erase_if(*gates, [&](const GateStatus& gate) {
    return (cursor && gate.name <= *cursor) || (kind && !is_of_kind(gate.name, *kind));
  });
  const bool has_more = std::cmp_greater(gates->size(), *limit);
  if (has_more) gates->resize(static_cast<std::size_t>(*limit));
  std::string body = list_json("gates", *gates);
  body.pop_back();
  return json_response(fmt::format(R"({},"cursor":{}}})", body, has_more ? json::quote(gates->back().name) : "null"));
}

// {"action": "open" | "close" | "limit", "until", "permits", "why"}
Answer set_gate(const Call& call) {
  GateOrder order{.gate = call.captures[0], .what = GateOrder::Open{}, .why = {}, .by = {}};
  std::string action;
  std::optional<Time> until;
  std::optional<int> permits;
  json::Reader body(call.request.body);
  body.need("action", action).get("until", until).get("permits", permits).get("why", order.why);
  if (action == "close") {
    order.what = GateOrder::Close{until.value_or(kUntilOpened)};
  } else if (action == "limit") {
    order.what = GateOrder::Limit{permits};
  } else if (action != "open") {
    body.refuse("action: expected open, close or limit");
  }
  if (const Status good = body.finish_strictly(); !good) return problem(good.error());
  return respond(call.queue.set_gate(order));
}

Answer budgets(const Call& call) {
  if (const Status known = call.only({}); !known) return problem(known.error());
  return respond_list("budgets", call.queue.budgets());
}

// {"unit", "amount", "per", "why"}; dollars are a number with decimals.
Answer raise_budget(const Call& call) {
  RaiseOrder order{.gate = call.captures[0]};
  std::string unit;
  std::string per;
  JsonText amount;
  json::Reader body(call.request.body);
  body.need("unit", unit).get("per", per).get("why", order.why).need_any_text("amount", amount);
  if (const auto parsed_unit = parse_budget_unit(unit)) {
    order.unit = *parsed_unit;
  } else {
    body.refuse("unit: expected usd, tokens, turns or wall");
  }
  if (!per.empty() && !(order.per = parse_budget_per(per))) body.refuse("per: expected day, month or none");
  if (const Status good = body.finish_strictly(); !good) return problem(good.error());
  const bool is_money = order.unit == BudgetUnit::kUsd;
  const auto parsed = is_money ? dollars(amount) : json::Value(json::Value::Number{amount}).as_int();
  if (!parsed) {
    return problem(
        Error{ErrorCode::kInvalidArgument, "amount: expected dollars, or a whole number of another unit", {}});
  }
  order.by_amount = *parsed;
  return respond(call.queue.raise_budget(order));
}

Answer queues(const Call& call) {
  return respond_list("queues", call.queue.queues());
}

Answer dead_letters(const Call& call) {
  const auto filter = filter_of_query(call.target.query, {});
  if (!filter) return problem(filter.error());
  return respond_list("groups", call.queue.error_groups(*filter));
}

Answer stats(const Call& call) {
  if (const Status known = call.only({"owner"}); !known) return problem(known.error());
  const auto owner = call.parameter("owner");
  return respond(owner ? call.queue.owner_stats(*owner) : call.queue.stats());
}

Answer stuck(const Call& call) {
  if (const Status known = call.only({"owner"}); !known) return problem(known.error());
  return respond(call.queue.stuck(call.parameter("owner")));
}

// ?by=day,owner&from=2026-11-01&to=2026-11-30&owner=O&type=T
Answer usage(const Call& call) {
  if (const Status known = call.only({"by", "from", "to", "owner", "type"}); !known) return problem(known.error());
  UsageQuery query{.from = call.parameter("from").value_or(""),
                   .to = call.parameter("to").value_or(""),
                   .owner = call.parameter("owner"),
                   .type = call.parameter("type")};
  auto by = parse_usage_dimensions(call.parameter("by").value_or("day"));
  if (!by) return problem(by.error());
  query.by = *std::move(by);
  return respond_list("rows", call.queue.usage(query));
}

// ?minutes=N or ?hours=N
Answer stats_history(const Call& call) {
  if (const Status known = call.only({"minutes", "hours"}); !known) return problem(known.error());
  const bool by_hour = call.parameter("hours").has_value();
  if (by_hour && call.parameter("minutes")) {
    return problem(Error{ErrorCode::kInvalidArgument, "say minutes or hours, not both", {}});
  }
  const auto count =
      by_hour ? call.number("hours", 0, kHistoryHours) : call.number("minutes", kHistoryShown, kHistoryMinutes);
  if (!count) return problem(count.error());
  return respond(
      call.queue.stats_history(by_hour ? HistoryStep::kHour : HistoryStep::kMinute, static_cast<int>(*count)));
}

Answer past_alerts(const Call& call) {
  if (const Status known = call.only({"limit"}); !known) return problem(known.error());
  const auto limit = call.number("limit", kPastAlertsShown, static_cast<std::int64_t>(kPastAlertsMax));
  if (!limit) return problem(limit.error());
  return respond_list("alerts", call.queue.past_alerts(static_cast<int>(*limit)));
}

// {"for", "why"}
Answer snooze_alert(const Call& call) {
  SnoozeOrder order{.key = call.captures[0]};
  std::string duration;
  json::Reader body(call.request.body);
  body.need("for", duration).get("why", order.verdict.why);
  if (const Status good = body.finish_strictly(); !good) return problem(good.error());
  const auto parsed = parse_duration(duration);
  if (!parsed) return problem(Error{ErrorCode::kInvalidArgument, "for: " + parsed.error().message, {}});
  order.duration = *parsed;
  return respond(call.queue.snooze_alert(order));
}

Answer views(const Call& call) {
  return respond_list("views", call.queue.views(std::nullopt));
}

Answer save_view(const Call& call) {
  SavedView view{.name = call.captures[0], .query = {}};
  json::Reader body(call.request.body);
  body.need("query", view.query);
  if (const Status good = body.finish_strictly(); !good) return problem(good.error());
  return respond(call.queue.save_view(std::nullopt, view));
}

Answer delete_view(const Call& call) {
  return respond(call.queue.delete_view(std::nullopt, call.captures[0]));
}

Answer alerts(const Call& call) {
  return respond_list("alerts", call.queue.alerts());
}

Answer config(const Call& call) {
  return respond(call.queue.config());
}

Answer config_versions(const Call& call) {
  return respond_list("versions", call.queue.config_versions());
}

Answer config_at(const Call& call) {
  const auto version = read_number("version", call.captures[0], INT64_MAX);
  return respond(version ? call.queue.config_at(*version) : std::unexpected(version.error()));
}

Answer apply_config(const Call& call) {
  Config config;
  if (const Status read = read_json(call.request.body, config); !read) return problem(read.error());
  return respond(call.queue.apply_config(config.document, config.version));
}

Answer fsck(const Call& call) {
  bool repair = false;
  json::Reader body(body_of(call));
  body.get("repair", repair);
  if (const Status good = body.finish_strictly(); !good) return problem(good.error());
  return respond_list("findings", call.queue.fsck(repair ? FsckMode::kRepair : FsckMode::kCheck));
}

constexpr std::array kOperateRoutes{
    Route{"GET", "/v1/gates", gates},
    Route{"POST", "/v1/gates/{name}", set_gate},
    Route{"GET", "/v1/budgets", budgets},
    Route{"POST", "/v1/budgets/{name}/raise", raise_budget},
    Route{"GET", "/v1/queues", queues},
    Route{"GET", "/v1/dlq", dead_letters},
    Route{"GET", "/v1/stats", stats},
    Route{"GET", "/v1/stats/history", stats_history, Access::kToken, AnsweredBy::kFew},
    Route{"GET", "/v1/alerts", alerts},
    Route{"GET", "/v1/alerts/history", past_alerts},
    Route{"POST", "/v1/alerts/{key}/snooze", snooze_alert},
    Route{"GET", "/v1/views", views},
    Route{"PUT", "/v1/views/{name}", save_view},
    Route{"DELETE", "/v1/views/{name}", delete_view},
    Route{"GET", "/v1/stuck", stuck},
    Route{"GET", "/v1/usage", usage},
    Route{"GET", "/v1/config", config},
    Route{"PUT", "/v1/config", apply_config},
    Route{"GET", "/v1/config/versions", config_versions},
    Route{"GET", "/v1/config/versions/{version}", config_at},
    Route{"POST", "/v1/fsck", fsck},
};

}  // namespace

std::span<const Route> operate_routes() {
  return kOperateRoutes;
}

}  // namespace drover::server
