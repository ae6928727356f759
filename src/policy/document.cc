#include "policy/document.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <utility>

#include "base/try.h"
#include "core/spec_check.h"
#include "policy/budget_fields.h"
#include "policy/config_node.h"
#include "policy/config_values.h"
#include "policy/contract_fields.h"
#include "policy/gate_sections.h"
#include "policy/health_section.h"
#include "policy/workspace_section.h"

namespace drover {
namespace {

constexpr Bounds kTasksBounds{1, 1'000'000'000};
constexpr Bounds kBodyBytesBounds{1, 256LL << 20};
constexpr Bounds kBatchBounds{1, 100'000};
constexpr Bounds kFanOutBounds{1, 10'000};
constexpr Bounds kDepthBounds{1, 1'000};
constexpr Bounds kStoreBytesBounds{1, 1LL << 50};
constexpr Bounds kBreakerFailuresBounds{1, 1'000'000};
constexpr double kTimeoutFactorMax = 100;
constexpr double kPriceMax = 1e6;  // dollars for a million tokens
constexpr std::size_t kPricesMax = 1'000;

// ---- types

Result<Action> action_of(const ConfigNode& node) {
  return one_of(node, parse_action, "retry, defer or fail");
}

// The only thing that can be said of it: the next one of the type's models.
Result<bool> next_model_of(const ConfigNode& node) {
  const auto text = TRY(node.text());
  if (text != "next" && text != "same") return node.expected("next or same");
  return text == "next";
}

constexpr auto kRuleFields = std::to_array<ConfigField<ClassRule>>({
    {"action", [](ClassRule& r, const ConfigNode& n) { return put(action_of(n), r.action); }},
    {"timeout_factor",
     [](ClassRule& r, const ConfigNode& n) { return put(n.number(1, kTimeoutFactorMax), r.timeout_factor); }},
    {"session",
     [](ClassRule& r, const ConfigNode& n) { return put(one_of(n, parse_session_use, "fresh or resume"), r.session); }},
    {"model", [](ClassRule& r, const ConfigNode& n) { return put(next_model_of(n), r.next_model); }},
    {"close_gate", [](ClassRule& r, const ConfigNode& n) { return put(n.boolean(), r.close_gate); }},
    {"alert", [](ClassRule& r, const ConfigNode& n) { return put(n.boolean(), r.alert); }},
});

// The rules themselves end a task with these: there is nothing to choose but who is told.
constexpr auto kVerdictFields = std::to_array<ConfigField<ClassRule>>({kRuleFields.back()});

std::array<std::string_view, kErrorClassCount> class_names() {
  std::array<std::string_view, kErrorClassCount> names;
  for (int i = 0; i < kErrorClassCount; ++i) {
    names[static_cast<std::size_t>(i)] = name_of(static_cast<ErrorClass>(i));
  }
  return names;
}

Status read_errors(ClassTable& table, const ConfigNode& node) {
  return node.members([&](const std::string& key, const ConfigNode& value) -> Status {
    const auto error_class = parse_error_class(key);
    if (!error_class) return value.unknown("error class", key, class_names());
    ClassRule& rule = table[std::to_underlying(*error_class)];
    if (is_verdict(*error_class)) return read_fields(value, kVerdictFields, rule);
    return read_fields(value, kRuleFields, rule);
  });
}

constexpr auto kBreakerFields = std::to_array<ConfigField<BreakerPolicy>>({
    {"failures",
     [](BreakerPolicy& b, const ConfigNode& n) { return put(count_of(n, kBreakerFailuresBounds), b.failures); }},
    {"window", [](BreakerPolicy& b, const ConfigNode& n) { return put(n.time_limit(), b.window); }},
    {"open", [](BreakerPolicy& b, const ConfigNode& n) { return put(n.time_limit(), b.open); }},
});

Status read_breaker(BreakerPolicy& breaker, const ConfigNode& node) {
  if (node.is_mapping()) return read_fields(node, kBreakerFields, breaker);
  if (!node.is_string() || *node.text() != "off") return node.expected("a mapping or `off`");
  breaker.failures = 0;
  return {};
}

// Names of models as agents take them.
Result<std::vector<std::string>> models_of(const ConfigNode& node) {
  const auto items = TRY(node.items());
  std::vector<std::string> models;
  for (const ConfigNode& item : items) {
    auto model = TRY(item.text());
    if (const Status good = check_word(model); !good) return item.error(good.error());
    if (std::ranges::find(models, model) != models.end()) return item.error("this model is listed twice");
    models.push_back(std::move(model));
  }
  if (models.empty()) return node.error("name at least one model, or leave models out");
  return models;
}

constexpr auto kTypeFields = std::to_array<ConfigField<TypePolicy>>({
    {"queue", [](TypePolicy& t, const ConfigNode& n) { return put(n.name(), t.queue); }},
    {"priority", [](TypePolicy& t, const ConfigNode& n) { return put(priority_of(n), t.priority); }},
    {"max_attempts",
     [](TypePolicy& t, const ConfigNode& n) { return put(count_of(n, kMaxAttemptsBounds), t.max_attempts); }},
    {"max_stalls", [](TypePolicy& t, const ConfigNode& n) { return put(count_of(n, kMaxStallsBounds), t.max_stalls); }},
    {"max_defers", [](TypePolicy& t, const ConfigNode& n) { return put(count_of(n, kMaxDefersBounds), t.max_defers); }},
    {"max_suspends",
     [](TypePolicy& t, const ConfigNode& n) { return put(count_of(n, kMaxSuspendsBounds), t.max_suspends); }},
    {"retry", [](TypePolicy& t, const ConfigNode& n) { return put(parsed(n, parse_retry_policy), t.retry); }},
    {"timeout", [](TypePolicy& t, const ConfigNode& n) { return put(n.time_limit(), t.timeout); }},
    {"idle_timeout", [](TypePolicy& t, const ConfigNode& n) { return put(n.time_limit(), t.idle_timeout); }},
    {"deadline", [](TypePolicy& t, const ConfigNode& n) { return put(n.time_limit(), t.deadline); }},
    {"on_parent_failure",
     [](TypePolicy& t, const ConfigNode& n) {
       return put(one_of(n, parse_on_parent_failure, "cancel, fail or run"), t.on_parent_failure);
     }},
    {"at_most_once", [](TypePolicy& t, const ConfigNode& n) { return put(n.boolean(), t.at_most_once); }},
    {"models", [](TypePolicy& t, const ConfigNode& n) { return put(models_of(n), t.models); }},
    {"verify",
     [](TypePolicy& t, const ConfigNode& n) {
       return put(one_of(n, parse_verify_rule, "optional, required or unchanged"), t.verify);
     }},
    {"provider", [](TypePolicy& t, const ConfigNode& n) { return put(n.name(), t.provider); }},
    {"budget", [](TypePolicy& t, const ConfigNode& n) { return put(budget_shares_of(n), t.budget); }},
    {"budget_per_run", [](TypePolicy& t, const ConfigNode& n) { return put(budget_shares_of(n), t.budget_per_run); }},
    {"breaker", [](TypePolicy& t, const ConfigNode& n) { return read_breaker(t.breaker, n); }},
    {"errors", [](TypePolicy& t, const ConfigNode& n) { return read_errors(t.classes, n); }},
    {"payload_schema", [](TypePolicy& t, const ConfigNode& n) { return put(schema_of(n), t.contract.payload_schema); }},
    {"result_schema", [](TypePolicy& t, const ConfigNode& n) { return put(schema_of(n), t.contract.result_schema); }},
    {"payload_defaults",
     [](TypePolicy& t, const ConfigNode& n) { return put(json_object_of(n), t.contract.payload_defaults); }},
    {"decision_report",
     [](TypePolicy& t, const ConfigNode& n) {
       return put(one_of(n, parse_decision_report, "required, optional or ignored"), t.contract.decision_report);
     }},
    {"on_success", [](TypePolicy& t, const ConfigNode& n) { return put(follow_up_from(n), t.contract.on_success); }},
    {"on_failure", [](TypePolicy& t, const ConfigNode& n) { return put(follow_up_from(n), t.contract.on_failure); }},
});

Status read_types(Policy& policy, const ConfigNode& node) {
  return node.members([&](const std::string& type, const ConfigNode& value) -> Status {
    if (const auto status = check_name(type); !status) return value.error(status.error());
    return read_fields(value, kTypeFields, policy.types[type]);
  });
}

// ---- limits

constexpr auto kLimitFields = std::to_array<ConfigField<Limits>>({
    {"max_waiting", [](Limits& l, const ConfigNode& n) { return put(n.whole_number(kTasksBounds), l.max_waiting); }},
    {"max_waiting_per_owner",
     [](Limits& l, const ConfigNode& n) { return put(n.whole_number(kTasksBounds), l.max_waiting_per_owner); }},
    {"payload_bytes", [](Limits& l, const ConfigNode& n) { return put(n.bytes(kBodyBytesBounds), l.payload_bytes); }},
    {"result_bytes", [](Limits& l, const ConfigNode& n) { return put(n.bytes(kBodyBytesBounds), l.result_bytes); }},
    {"batch_tasks", [](Limits& l, const ConfigNode& n) { return put(n.whole_number(kBatchBounds), l.batch_tasks); }},
    {"dependents", [](Limits& l, const ConfigNode& n) { return put(n.whole_number(kFanOutBounds), l.dependents); }},
    {"children", [](Limits& l, const ConfigNode& n) { return put(n.whole_number(kFanOutBounds), l.children); }},
    {"depth", [](Limits& l, const ConfigNode& n) { return put(n.whole_number(kDepthBounds), l.depth); }},
    {"retention", [](Limits& l, const ConfigNode& n) { return put(n.time_limit(), l.retention); }},
    {"retention_tasks",
     [](Limits& l, const ConfigNode& n) { return put(n.whole_number(kTasksBounds), l.retention_tasks); }},
    {"retention_bytes",
     [](Limits& l, const ConfigNode& n) { return put(n.bytes(kStoreBytesBounds), l.retention_bytes); }},
    {"event_retention", [](Limits& l, const ConfigNode& n) { return put(n.time_limit(), l.event_retention); }},
    {"event_retention_count",
     [](Limits& l, const ConfigNode& n) { return put(n.whole_number(kTasksBounds), l.event_retention_count); }},
    {"usage_retention", [](Limits& l, const ConfigNode& n) { return put(n.time_limit(), l.usage_retention); }},
});

// ---- prices

Result<MicroDollars> price_of(const ConfigNode& node) {
  const auto dollars = TRY(node.number(0, kPriceMax));
  return std::llround(dollars * 1e6);
}

constexpr auto kPriceFields = std::to_array<ConfigField<ModelPrice>>({
    {"input", [](ModelPrice& p, const ConfigNode& n) { return put(price_of(n), p.input); }},
    {"cached", [](ModelPrice& p, const ConfigNode& n) { return put(price_of(n), p.cached_input); }},
    {"cache_write", [](ModelPrice& p, const ConfigNode& n) { return put(price_of(n), p.cache_write); }},
    {"output", [](ModelPrice& p, const ConfigNode& n) { return put(price_of(n), p.output); }},
});

Status read_prices(PriceTable& prices, const ConfigNode& node) {
  return node.members([&](const std::string& model, const ConfigNode& value) -> Status {
    if (const Status good = check_word(model); !good) return value.error(good.error());
    if (prices.size() >= kPricesMax) return value.error(fmt::format("at most {} models can have prices", kPricesMax));
    ModelPrice& price = prices[model] = {.input = -1, .output = -1};
    TRY(read_fields(value, kPriceFields, price));
    if (price.input >= 0 && price.output >= 0) return {};
    return value.error("input and output are both needed, in dollars per million tokens");
  });
}

// ---- local

bool is_variable_name(std::string_view text) {
  const auto is_word = [](unsigned char c) { return c == '_' || std::isalnum(c) != 0; };
  return !text.empty() && std::isdigit(static_cast<unsigned char>(text[0])) == 0 && std::ranges::all_of(text, is_word);
}

Result<std::vector<std::string>> env_of(const ConfigNode& node) {
  auto names = texts_of(node);
  if (!names) return names;
  for (const std::string& name : *names) {
    if (!is_variable_name(name)) {
      return node.error(fmt::format("expected names of environment variables, not {}", quoted_excerpt(name)));
    }
  }
  return names;
}

Result<const agents::Preset*> preset_of(const ConfigNode& node) {
  const auto name = TRY(node.text());
  auto preset = agents::preset_named(name);
  return preset ? preset : node.error(preset.error());
}

constexpr auto kVerifyFields = std::to_array<ConfigField<Verify>>({
    {"argv", [](Verify& v, const ConfigNode& n) { return put(argv_of(n), v.argv); }},
    {"timeout", [](Verify& v, const ConfigNode& n) { return put(n.time_limit(), v.timeout); }},
});

Result<Verify> verify_of(const ConfigNode& node) {
  Verify verify;
  TRY(read_fields(node, kVerifyFields, verify));
  if (verify.argv.empty()) return node.error("argv is missing");
  return verify;
}

constexpr auto kPatternFields = std::to_array<ConfigField<agents::OutputPattern>>({
    {"match",
     [](agents::OutputPattern& p, const ConfigNode& n) -> Status {
       TRY(put(n.text(), p.match));
       const Status checked = agents::check_output_pattern(p.match);
       return checked ? checked : n.error(checked.error());
     }},
    {"class",
     [](agents::OutputPattern& p, const ConfigNode& n) { return put(parsed(n, parse_reported_class), p.error_class); }},
});

Result<std::vector<agents::OutputPattern>> patterns_of(const ConfigNode& node) {
  const auto items = TRY(node.items());
  if (items.size() > agents::kOutputPatternsMax)
    return node.error(fmt::format("at most {} patterns", agents::kOutputPatternsMax));
  std::vector<agents::OutputPattern> patterns;
  for (const ConfigNode& item : items) {
    constexpr ErrorClass kNotRead = ErrorClass::kUnknownType;  // which a pattern cannot give
    agents::OutputPattern& pattern = patterns.emplace_back(std::string(), kNotRead);
    TRY(read_fields(item, kPatternFields, pattern));
    if (pattern.match.empty() || pattern.error_class == kNotRead) return item.error("match and class are both needed");
  }
  return patterns;
}

constexpr auto kRunnerFields = std::to_array<ConfigField<RunnerProfile>>({
    {"preset", [](RunnerProfile& r, const ConfigNode& n) { return put(preset_of(n), r.preset); }},
    {"permissions",
     [](RunnerProfile& r, const ConfigNode& n) {
       return put(one_of(n, agents::parse_permissions, "bypass, edits or read_only"), r.permissions);
     }},
    {"verify", [](RunnerProfile& r, const ConfigNode& n) { return put(verify_of(n), r.verify); }},
    {"argv", [](RunnerProfile& r, const ConfigNode& n) { return put(argv_of(n), r.argv); }},
    {"env", [](RunnerProfile& r, const ConfigNode& n) { return put(env_of(n), r.env); }},
    {"concurrency",
     [](RunnerProfile& r, const ConfigNode& n) { return put(count_of(n, kConcurrencyBounds), r.concurrency); }},
    {"patterns", [](RunnerProfile& r, const ConfigNode& n) { return put(patterns_of(n), r.patterns); }},
    {"workspace", [](RunnerProfile& r, const ConfigNode& n) { return read_workspace(r.workspace, n); }},
    {"reports_usage", [](RunnerProfile& r, const ConfigNode& n) { return put(n.boolean(), r.reports_usage); }},
});

Status read_runners(LocalSettings& local, const ConfigNode& node) {
  return node.members([&](const std::string& type, const ConfigNode& value) -> Status {
    if (const auto status = check_name(type); !status) return value.error(status.error());
    RunnerProfile& profile = local.runners[type];
    TRY(read_fields(value, kRunnerFields, profile));
    if (profile.argv.empty() && profile.preset != nullptr) profile.argv.emplace_back(profile.preset->program);
    if (profile.argv.empty()) return value.error("name a preset or a command: preset or argv is missing");
    if (profile.preset == nullptr && profile.verify)
      return value.error("verify needs a preset: a command checks itself");
    if (profile.preset != nullptr && profile.reports_usage)
      return value.error("reports_usage is for commands: a preset reads what its agent used");
    if (profile.preset != nullptr && !profile.patterns.empty())
      return value.error("patterns are for commands: a preset reads the errors of its agent by itself");
    return {};
  });
}

constexpr auto kLogFields = std::to_array<ConfigField<LocalSettings>>({
    {"level",
     [](LocalSettings& l, const ConfigNode& n) {
       return put(one_of(n, parse_log_level, "debug, info, warn, error or off"), l.log_level);
     }},
});

// A text that passes the check.
Result<std::string> checked_text(const ConfigNode& node, Status (*check)(std::string_view)) {
  auto text = TRY(node.text());
  if (const Status good = check(text); !good) return node.error(good.error());
  return text;
}

constexpr auto kServerFields = std::to_array<ConfigField<ServerName>>({
    {"name", [](ServerName& s, const ConfigNode& n) { return put(checked_text(n, check_server_name), s.name); }},
    {"colour", [](ServerName& s, const ConfigNode& n) { return put(checked_text(n, check_server_colour), s.colour); }},
});

constexpr auto kLocalFields = std::to_array<ConfigField<LocalSettings>>({
    {"log", [](LocalSettings& l, const ConfigNode& n) { return read_fields(n, kLogFields, l); }},
    {"runners", [](LocalSettings& l, const ConfigNode& n) { return read_runners(l, n); }},
    {"repos", [](LocalSettings& l, const ConfigNode& n) { return read_repos(l.repos, n); }},
    {"server", [](LocalSettings& l, const ConfigNode& n) { return read_fields(n, kServerFields, l.server); }},
});

// ---- the whole

Result<std::string> store_of(const ConfigNode& node) {
  auto url = node.text();
  if (url && url->empty()) return node.error("expected a store URL, like sqlite:PATH");
  return url;
}

constexpr auto kTopFields = std::to_array<ConfigField<Document>>({
    {"types", [](Document& d, const ConfigNode& n) { return read_types(d.policy, n); }},
    {"types_closed", [](Document& d, const ConfigNode& n) { return put(n.boolean(), d.policy.types_closed); }},
    {"queues", [](Document& d, const ConfigNode& n) { return read_queues(d.policy, n); }},
    {"owners", [](Document& d, const ConfigNode& n) { return read_owners(d.policy, n); }},
    {"gates", [](Document& d, const ConfigNode& n) { return read_gates(d.policy, n); }},
    {"limits", [](Document& d, const ConfigNode& n) { return read_fields(n, kLimitFields, d.policy.limits); }},
    {"health", [](Document& d, const ConfigNode& n) { return read_health(d.policy.health, n); }},
    {"prices", [](Document& d, const ConfigNode& n) { return read_prices(d.policy.prices, n); }},
    {"store", [](Document& d, const ConfigNode& n) { return put(store_of(n), d.local.store); }},
    {"local", [](Document& d, const ConfigNode& n) { return read_fields(n, kLocalFields, d.local); }},
});
constexpr std::array<std::string_view, 2> kNeverShared{"store", "local"};

Status check_repos_of_runners(const ConfigNode& root, const LocalSettings& local) {
  for (const auto& [type, profile] : local.runners) {
    const std::string& repo = profile.workspace.repo;
    if (repo.empty() || local.repos.contains(repo)) continue;
    const std::vector<std::string> path{"local", "runners", type, "workspace", "repo"};
    return root.at(path).error(fmt::format("there is no repository {0}; add local.repos.{0}", repo));
  }
  return {};
}

// All but the part that all processes share.
Result<Document> read_document(const ConfigNode& root) {
  Document document;
  TRY(read_fields(root, kTopFields, document));
  TRY(check_follow_ups(root, document.policy));
  TRY(check_budgets(root, document.policy));
  TRY(check_repos_of_runners(root, document.local));
  return document;
}

// What goes to the store, as it was written. Of a document that was read without ignoring anything.
Result<JsonText> shared_part(const ConfigNode& root) {
  json::Value::Object shared;
  const Status read = root.members([&](const std::string& key, const ConfigNode& value) -> Status {
    if (std::ranges::find(kNeverShared, key) == kNeverShared.end()) shared.emplace_back(key, value.to_json());
    return {};
  });
  if (!read) return std::unexpected(read.error());
  std::ranges::sort(shared, {}, &json::Value::Member::first);
  return json::dump(std::move(shared));
}

Result<StoredPolicy> read_policy(std::string_view shared_json, UnknownKeys unknown_keys) {
  const auto root = TRY(ConfigNode::parse(shared_json, "policy", unknown_keys));
  auto document = TRY(read_document(root));
  if (document.local != LocalSettings{}) {
    return fail(ErrorCode::kInvalidConfig, "policy: local settings are never stored");
  }
  return StoredPolicy{.policy = std::move(document.policy), .ignored = root.ignored()};
}

}  // namespace

Result<Document> parse_document(std::string_view text, std::string_view file_name) {
  const auto root = TRY(ConfigNode::parse(text, file_name));
  auto document = read_document(root);
  if (!document) return document;
  TRY(put(shared_part(root), document->shared));
  return document;
}

Result<Policy> parse_policy(std::string_view shared_json) {
  auto read = TRY(read_policy(shared_json, UnknownKeys::kRefused));
  return std::move(read.policy);
}

Result<StoredPolicy> read_stored_policy(std::string_view shared_json) {
  return read_policy(shared_json, UnknownKeys::kIgnored);
}

}  // namespace drover
