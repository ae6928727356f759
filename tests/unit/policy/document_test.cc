#include "policy/document.h"

#include <gtest/gtest.h>

#include "base/json.h"

namespace drover {
namespace {

Document must_parse(std::string_view text) {
  auto document = parse_document(text, "drover.yaml");
  if (!document) {
    ADD_FAILURE() << to_string(document.error());
    return {};
  }
  return *document;
}

std::string refusal(std::string_view text) {
  const auto document = parse_document(text, "drover.yaml");
  if (document) {
    ADD_FAILURE() << "accepted: " << text;
    return {};
  }
  EXPECT_EQ(document.error().code, ErrorCode::kInvalidConfig) << text;
  return document.error().message;
}

TEST(Document, EmptyMeansTheDefaults) {
  for (const std::string_view text : {"", "# nothing yet\n", "{}", "---\n", "types:\nlimits:\nlocal:\n"}) {
    const Document document = must_parse(text);
    EXPECT_EQ(document.policy, Policy{}) << text;
    EXPECT_EQ(document.local, LocalSettings{}) << text;
  }
  EXPECT_EQ(must_parse("").shared, "{}");
}

TEST(Document, ReadsTypes) {
  const Document document = must_parse(R"(
types:
  eng-backend: {queue: eng, priority: high, max_attempts: 5, retry: "exponential:2s,3,60s", timeout: 30m,
                errors: {oom: {action: retry, alert: false}, timeout: {timeout_factor: 2}}}
  deploy:
    priority: 1
    max_stalls: 0
    max_defers: 7
    idle_timeout: 90s
    deadline: 2h
    on_parent_failure: run
    at_most_once: true
    retry: list:1s,5s
    errors:
      agent_error: {action: fail, alert: true}
      lost: {alert: true}
  bare:
)");
  const auto& types = document.policy.types;
  ASSERT_EQ(types.size(), 3u);

  const TypePolicy& eng = types.at("eng-backend");
  EXPECT_EQ(eng.queue, "eng");
  EXPECT_EQ(eng.priority, 2);
  EXPECT_EQ(eng.max_attempts, 5);
  EXPECT_EQ(eng.retry, parse_retry_policy("exponential:2s,3,60s"));
  EXPECT_EQ(eng.timeout, Millis{1'800'000});
  EXPECT_EQ(eng.idle_timeout, std::nullopt);
  ClassTable classes = default_class_table();
  classes[static_cast<std::size_t>(ErrorClass::kOom)] = {.action = Action::kRetry, .alert = false};
  classes[static_cast<std::size_t>(ErrorClass::kTimeout)].timeout_factor = 2;
  EXPECT_EQ(eng.classes, classes);

  const TypePolicy& deploy = types.at("deploy");
  EXPECT_EQ(deploy.queue, std::nullopt);
  EXPECT_EQ(deploy.priority, 1);
  EXPECT_EQ(deploy.max_stalls, 0);
  EXPECT_EQ(deploy.max_defers, 7);
  EXPECT_EQ(deploy.idle_timeout, Millis{90'000});
  EXPECT_EQ(deploy.deadline, Millis{7'200'000});
  EXPECT_EQ(deploy.on_parent_failure, OnParentFailure::kRun);
  EXPECT_EQ(deploy.at_most_once, true);
  EXPECT_EQ(deploy.retry, parse_retry_policy("list:1s,5s"));
  classes = default_class_table();
  classes[static_cast<std::size_t>(ErrorClass::kAgentError)] = {
      .action = Action::kFail, .alert = true, .session = SessionUse::kResume};
  classes[static_cast<std::size_t>(ErrorClass::kLost)].alert = true;
  EXPECT_EQ(deploy.classes, classes);

  EXPECT_EQ(types.at("bare"), TypePolicy{});
}

TEST(Document, ReadsLimits) {
  const Limits limits = must_parse(R"(
limits:
  max_waiting: 10
  max_waiting_per_owner: 9
  payload_bytes: 64KiB
  result_bytes: 2048
  batch_tasks: 8
  dependents: 7
  children: 6
  depth: 5
  retention: 30d
  retention_tasks: 4
  retention_bytes: "16GiB"
  event_retention: 1h30m
  event_retention_count: 3
)")
                            .policy.limits;
  EXPECT_EQ(limits, (Limits{.max_waiting = 10,
                            .max_waiting_per_owner = 9,
                            .payload_bytes = 65'536,
                            .result_bytes = 2'048,
                            .batch_tasks = 8,
                            .dependents = 7,
                            .children = 6,
                            .depth = 5,
                            .retention = std::chrono::days(30),
                            .retention_tasks = 4,
                            .retention_bytes = 16LL << 30,
                            .event_retention = std::chrono::minutes(90),
                            .event_retention_count = 3}));
}

TEST(Document, ReadsLocalSettings) {
  const Document document = must_parse(R"(
store: sqlite:/var/lib/drover/drover.db
local:
  log: {level: warn}
  runners:
    eng-backend: {argv: ["claude", "-p", "ä \"x\"", ""], env: [ANTHROPIC_API_KEY, _x1], concurrency: 2}
    plain: {argv: [cat]}
  server: {name: production, colour: red}
)");
  EXPECT_EQ(document.local.store, "sqlite:/var/lib/drover/drover.db");
  EXPECT_EQ(document.local.log_level, LogLevel::kWarn);
  ASSERT_EQ(document.local.runners.size(), 2u);
  EXPECT_EQ(
      document.local.runners.at("eng-backend"),
      (RunnerProfile{.argv = {"claude", "-p", "ä \"x\"", ""}, .env = {"ANTHROPIC_API_KEY", "_x1"}, .concurrency = 2}));
  EXPECT_EQ(document.local.runners.at("plain"), (RunnerProfile{.argv = {"cat"}}));
  EXPECT_EQ(document.local.server, (ServerName{.name = "production", .colour = "red"}));
  // What is local never leaves this process.
  EXPECT_EQ(document.shared, "{}");
}

TEST(Document, ReadsJson) {
  const Document document = must_parse(
      "{\n\t\"types\": {\"eng\": {\"queue\": \"5\", \"priority\": 3, \"at_most_once\": true, \"timeout\": \"30s\",\n"
      "\t\t\"errors\": {\"timeout\": {\"timeout_factor\": 1.25}}}},\n\t\"limits\": {\"retention_bytes\": 4096}\n}\n");
  const TypePolicy& eng = document.policy.types.at("eng");
  EXPECT_EQ(eng.queue, "5");
  EXPECT_EQ(eng.priority, 3);
  EXPECT_EQ(eng.at_most_once, true);
  EXPECT_EQ(eng.timeout, Millis{30'000});
  EXPECT_EQ(eng.classes[static_cast<std::size_t>(ErrorClass::kTimeout)].timeout_factor, 1.25);
  EXPECT_EQ(document.policy.limits.retention_bytes, 4'096);
}

TEST(Document, SharedIsCanonicalJson) {
  EXPECT_EQ(must_parse(R"(
types:
  zeta: {queue: "5", at_most_once: false}
  alpha:
    timeout: 30m
    priority: 2
    errors: {timeout: {timeout_factor: 1.50, action: retry}}
  bare:
limits: {retention: 7d}
local: {log: {level: info}}
)")
                .shared,
            R"({"limits":{"retention":"7d"},"types":{"alpha":{"errors":{"timeout":{"action":"retry",)"
            R"("timeout_factor":1.50}},"priority":2,"timeout":"30m"},"bare":null,)"
            R"("zeta":{"at_most_once":false,"queue":"5"}}})");
}

TEST(Document, UnknownFieldsNameTheirLineAndTheNearestWord) {
  EXPECT_EQ(refusal("types:\n  eng:\n    queue: q\n    retyr: fixed:1s\n"),
            "drover.yaml:4: types.eng.retyr: unknown field \"retyr\" (did you mean \"retry\"?)");
  EXPECT_EQ(refusal("limits: {}\n\nlimit: {}\n"),
            "drover.yaml:3: limit: unknown field \"limit\" (did you mean \"limits\"?)");
  EXPECT_EQ(refusal("types: {eng: {errors: {agent_eror: {action: fail}}}}"),
            "drover.yaml:1: types.eng.errors.agent_eror: unknown error class \"agent_eror\" (did you mean "
            "\"agent_error\"?)");
  EXPECT_EQ(
      refusal("local:\n  runners:\n    eng: {argv: [x], shell: 'true'}\n"),
      "drover.yaml:3: local.runners.eng.shell: unknown field \"shell\" (known: preset, permissions, verify, argv, env, "
      "concurrency, patterns, workspace, reports_usage)");
  // A part of the document that comes later.
  EXPECT_EQ(refusal("\nroutes: {}\n").find("drover.yaml:2: routes: unknown"), 0u);
  // The rules end tasks with these classes; only the alert can be chosen.
  EXPECT_EQ(refusal("types: {eng: {errors: {lost: {action: retry}}}}"),
            "drover.yaml:1: types.eng.errors.lost.action: unknown field \"action\" (known: alert)");
}

TEST(Document, BadValuesNameTheirLineAndPath) {
  struct Case {
    std::string_view text;
    std::string_view message;
  };
  constexpr Case kCases[] = {
      {"types: {eng: {queue: 5}}", "types.eng.queue: expected a string (in quotes), not 5"},
      {"types: {eng: {queue: 'a b'}}",
       "types.eng.queue: expected 1 to 128 letters, digits or any of _ . : @ -, not \"a b\""},
      {"types: {'a b': {}}", "types.a b: expected 1 to 128 letters, digits or any of _ . : @ -, not \"a b\""},
      {"types: {eng: {max_attempts: 0}}", "types.eng.max_attempts: expected a whole number from 1 to 1000000, not 0"},
      {"types: {eng: {max_attempts: '3'}}",
       "types.eng.max_attempts: expected a whole number from 1 to 1000000, not \"3\""},
      {"types: {eng: {max_attempts: 3.0}}",
       "types.eng.max_attempts: expected a whole number from 1 to 1000000, not 3.0"},
      {"types: {eng: {max_attempts: 0x10}}",
       "types.eng.max_attempts: expected a whole number from 1 to 1000000, not \"0x10\""},
      {"types: {eng: {max_attempts: }}", "types.eng.max_attempts: expected a whole number from 1 to 1000000, not null"},
      {"types: {eng: {max_stalls: -1}}", "types.eng.max_stalls: expected a whole number from 0 to 1000000, not -1"},
      {"types: {eng: {priority: 10}}", "types.eng.priority: expected a whole number from 0 to 9, not 10"},
      {"types: {eng: {timeout: 30}}", "types.eng.timeout: expected a duration with its unit, like 30s or 5m, not 30"},
      {"types: {eng: {timeout: 0s}}", "types.eng.timeout: expected a duration from 1ms to 36500d, not 0s"},
      {"types: {eng: {at_most_once: yes}}", "types.eng.at_most_once: expected true or false, not \"yes\""},
      {"types: {eng: {on_parent_failure: x}}", "types.eng.on_parent_failure: expected cancel, fail or run, not \"x\""},
      {"types: {eng: {errors: {oom: {action: x}}}}",
       "types.eng.errors.oom.action: expected retry, defer or fail, not \"x\""},
      {"types: {eng: {errors: {oom: {timeout_factor: 0.5}}}}",
       "types.eng.errors.oom.timeout_factor: expected a number from 1 to 100, not 0.5"},
      {"types: {eng: {errors: {oom: {timeout_factor: x}}}}",
       "types.eng.errors.oom.timeout_factor: expected a number from 1 to 100, not \"x\""},
      {"types: {eng: {errors: {oom: {timeout_factor: 1e999}}}}",
       "types.eng.errors.oom.timeout_factor: expected a number from 1 to 100, not 1e999"},
      {"types: {eng: {errors: [oom]}}", "types.eng.errors: expected a mapping, not a list"},
      {"types: {eng: {queue: {}}}", "types.eng.queue: expected a string, not a mapping"},
      {"types: [eng]", "types: expected a mapping, not a list"},
      {"types: {eng: 5}", "types.eng: expected a mapping, not 5"},
      {"limits: {max_waiting: 0}", "limits.max_waiting: expected a whole number from 1 to 1000000000, not 0"},
      {"limits: {max_waiting: 99999999999999999999}",
       "limits.max_waiting: expected a whole number from 1 to 1000000000, not 99999999999999999999"},
      {"limits: {retention_bytes: 4GB}",
       "limits.retention_bytes: expected a number of bytes, or one with its unit, like 64KiB or 4GiB, not \"4GB\""},
      {"limits: {retention_bytes: -4GiB}",
       "limits.retention_bytes: expected a number of bytes, or one with its unit, like 64KiB or 4GiB, not \"-4GiB\""},
      {"limits: {retention_bytes: 99999999TiB}",
       "limits.retention_bytes: expected a number of bytes, or one with its unit, like 64KiB or 4GiB, not "
       "\"99999999TiB\""},
      {"limits: {payload_bytes: 1GiB}",
       "limits.payload_bytes: expected a whole number from 1 to 268435456, not 1073741824"},
      {"store: ''", "store: expected a store URL, like sqlite:PATH"},
      {"store: [a]", "store: expected a string, not a list"},
      {"local: {log: {level: loud}}", "local.log.level: expected debug, info, warn, error or off, not \"loud\""},
      {"local: {runners: {eng: {}}}", "local.runners.eng: name a preset or a command: preset or argv is missing"},
      {"local: {runners: {eng: {argv: []}}}", "local.runners.eng.argv: the program to run is missing"},
      {"local: {runners: {eng: {argv: ['']}}}", "local.runners.eng.argv: the program to run is missing"},
      {"local: {runners: {eng: {argv: echo x}}}", "local.runners.eng.argv: expected a list, not \"echo x\""},
      {"local: {runners: {eng: {argv: [sleep, 5]}}}", "local.runners.eng.argv.1: expected a string (in quotes), not 5"},
      {"local: {runners: {eng: {argv: [\"a\\0b\"]}}}", "local.runners.eng.argv.0: contains a NUL character"},
      {"local: {runners: {eng: {argv: [x], env: [A=B]}}}",
       "local.runners.eng.env: expected names of environment variables, not \"A=B\""},
      {"local: {runners: {eng: {argv: [x], env: [1A]}}}",
       "local.runners.eng.env: expected names of environment variables, not \"1A\""},
      {"local: {runners: {eng: {argv: [x], env: {}}}}", "local.runners.eng.env: expected a list, not a mapping"},
      {"local: {runners: {eng: {argv: [x], concurrency: 0}}}",
       "local.runners.eng.concurrency: expected a whole number from 1 to 1000, not 0"},
      {"local: {runners: {eng: {argv: [x], patterns: [{match: a}]}}}",
       "local.runners.eng.patterns.0: match and class are both needed"},
      {"local: {runners: {eng: {argv: [x], patterns: [{class: auth}]}}}",
       "local.runners.eng.patterns.0: match and class are both needed"},
      {"local: {runners: {eng: {argv: [x], patterns: [{match: '(', class: auth}]}}}",
       "local.runners.eng.patterns.0.match: expected a regular expression (RE2), but: missing ): ("},
      {"local: {runners: {eng: {argv: [x], patterns: [{match: '', class: auth}]}}}",
       "local.runners.eng.patterns.0.match: expected a regular expression (RE2) of 1 to 1024 bytes"},
      {"local: {runners: {eng: {argv: [x], patterns: [{match: a, class: rate_limit}]}}}",
       "local.runners.eng.patterns.0.class: unknown error class \"rate_limit\" (did you mean \"rate_limited\"?)"},
      {"local: {runners: {eng: {preset: claude, patterns: [{match: a, class: auth}]}}}",
       "local.runners.eng: patterns are for commands: a preset reads the errors of its agent by itself"},
      {"local: {runners: {'a b': {argv: [x]}}}",
       "local.runners.a b: expected 1 to 128 letters, digits or any of _ . : @ -, not \"a b\""},
      {"local: {runners: {eng: {preset: claude, reports_usage: true}}}",
       "local.runners.eng: reports_usage is for commands: a preset reads what its agent used"},
      {"types: {eng: {models: []}}", "types.eng.models: name at least one model, or leave models out"},
      {"types: {eng: {models: [a, '']}}", "types.eng.models.1: expected at least one character; leave it out instead"},
      {"types: {eng: {models: ['-p']}}", "types.eng.models.0: \"-p\" begins with '-' and could be taken for an option"},
      {"prices: {'-p': {input: 1, output: 1}}", "prices.-p: \"-p\" begins with '-' and could be taken for an option"},
      {"types: {eng: {}, eng: {}}", "types.eng: is given twice"},
      {"[1]", "expected a mapping, not a list"},
      {"hello", "expected a mapping, not \"hello\""},
      {"? [a, b]\n: 1", "a key must be a word"},
  };
  for (const Case& c : kCases) {
    // Behind two lines, so that the line is seen to be right.
    EXPECT_EQ(refusal("\n\n" + std::string(c.text)), "drover.yaml:3: " + std::string(c.message));
  }
  EXPECT_EQ(refusal("types: {eng: &a {queue: q}, b: {<<: *a}}").find("drover.yaml:1: types.b.<<: unknown field \"<<\""),
            0u);
  EXPECT_EQ(refusal("types:\n  eng:\n    retry: soon\n").find("drover.yaml:3: types.eng.retry: a retry policy is "),
            0u);
  EXPECT_EQ(refusal("types:\n  eng:\n    timeout: soon\n").find("drover.yaml:3: types.eng.timeout: a duration is "),
            0u);
  EXPECT_EQ(refusal("types:\n  eng:\n    priority: soon\n").find("drover.yaml:3: types.eng.priority: a priority is "),
            0u);
}

TEST(Document, BadYamlIsToldInPlainWords) {
  constexpr std::string_view kTab = "drover.yaml:2: tab character; indent with spaces";
  EXPECT_EQ(refusal("types:\n\teng: {}\n"), kTab);
  EXPECT_EQ(refusal("types:\n  \teng: {}\n"), kTab);
  EXPECT_EQ(refusal("types:\n  eng: {}\n\tops: {}\n"), "drover.yaml:3: tab character; indent with spaces");
  EXPECT_EQ(refusal("types: [1, 2\n"), "drover.yaml:2: a [ is not closed");
  EXPECT_EQ(refusal("types: {eng: {}\n"), "drover.yaml:2: a { is not closed");
  EXPECT_EQ(refusal("types: ]\n"), "drover.yaml:1: a bracket closes nothing");
  EXPECT_EQ(refusal("types:\n  a: b: c\n"),
            "drover.yaml:2: unexpected \":\"; check the indentation, and put text that holds \": \" in quotes");
  EXPECT_EQ(refusal("types: - eng\n"),
            "drover.yaml:1: unexpected \"-\"; the items of a list begin on lines of their own");
  EXPECT_EQ(refusal("types:\n  eng: {}\n ops: {}\n"),
            "drover.yaml:3: this does not belong to the mapping above; check the indentation");
  EXPECT_EQ(refusal("store: @x\n"), "drover.yaml:1: text that begins with this character must be in quotes");
  EXPECT_EQ(refusal("store: \"\\q\"\n"), "drover.yaml:1: not valid YAML: unknown escape character: q");
}

TEST(Document, BadYamlNamesItsLine) {
  EXPECT_EQ(refusal("types:\n  eng: [1, 2\nlimits: 3\n"), "drover.yaml:3: a [ is not closed");
  EXPECT_EQ(refusal("a: *nobody\n").find("drover.yaml:1: text that begins with * refers to an anchor"), 0u);
  EXPECT_EQ(refusal("types: {}\n---\nlimits: {}\n"), "drover.yaml:3: a second document; one is allowed");
  // In this one yaml-cpp finds documents without end.
  EXPECT_FALSE(refusal(R"({"limits":)"
                       "\x0e"
                       R"("max_waiting":5,"maF_waiting_per_owner":2,"eventZ_retention":"60s"},"health":{"lag":10}})")
                   .empty());
  EXPECT_EQ(refusal("types: {\"\xff\": {}}"), "drover.yaml:1: not UTF-8");
  EXPECT_EQ(refusal(std::string((1 << 20) + 1, ' ')), "drover.yaml:1: larger than 1048576 bytes");
  EXPECT_EQ(refusal(std::string(100'000, '[')).find("drover.yaml:1: "), 0u);
  // Neither endless nor exponential.
  EXPECT_EQ(refusal("types: &t {eng: *t}\n").find("drover.yaml:1: types.eng."), 0u);
}

TEST(ParsePolicy, ReadsTheSharedPart) {
  const auto policy = parse_policy(R"({"types":{"eng":{"queue":"q"}},"limits":{"depth":3}})");
  ASSERT_TRUE(policy);
  EXPECT_EQ(policy->types.at("eng").queue, "q");
  EXPECT_EQ(policy->limits.depth, 3);
  EXPECT_EQ(parse_policy("{}"), Policy{});
}

TEST(ParsePolicy, RefusesWhatIsNeverStored) {
  for (const std::string_view text :
       {R"({"local":{"log":{"level":"info"}}})", R"({"store":"memory:"})", R"({"types":{"eng":{"quue":"q"}}})", "[]"}) {
    const auto policy = parse_policy(text);
    ASSERT_FALSE(policy) << text;
    EXPECT_EQ(policy.error().code, ErrorCode::kInvalidConfig);
  }
}

// A document of a newer version: a field unknown here at one level, beside fields that are known.
struct Newer {
  std::string_view document;
  std::string_view known;    // the same without it
  std::string_view ignored;  // its path
};

TEST(StoredPolicy, IgnoresAnUnknownFieldAtEachLevelAndNothingElse) {
  const Newer cases[] = {
      {R"({"limits":{"depth":3},"routes":[{"to":"x"}]})", R"({"limits":{"depth":3}})", "routes"},
      {R"({"types":{"eng":{"queue":"q","sandbox":{"net":false}}}})", R"({"types":{"eng":{"queue":"q"}}})",
       "types.eng.sandbox"},
      {R"({"types":{"eng":{"breaker":{"failures":2,"probes":3}}}})", R"({"types":{"eng":{"breaker":{"failures":2}}}})",
       "types.eng.breaker.probes"},
      {R"({"types":{"eng":{"errors":{"oom":{"alert":true,"page":"ann"}}}}})",
       R"({"types":{"eng":{"errors":{"oom":{"alert":true}}}}})", "types.eng.errors.oom.page"},
      {R"({"types":{"eng":{"errors":{"haunted":{"action":"exorcise"},"oom":{"alert":true}}}}})",
       R"({"types":{"eng":{"errors":{"oom":{"alert":true}}}}})", "types.eng.errors.haunted"},
      {R"({"types":{"eng":{"on_success":{"type":"next","delay":"5s"}}}})",
       R"({"types":{"eng":{"on_success":{"type":"next"}}}})", "types.eng.on_success.delay"},
      {R"({"queues":{"eng":{"permits":4,"budget":9}}})", R"({"queues":{"eng":{"permits":4}}})", "queues.eng.budget"},
      {R"({"queues":{"eng":{"reserve":{"priority":2,"slots":1,"owners":["a"]}}}})",
       R"({"queues":{"eng":{"reserve":{"priority":2,"slots":1}}}})", "queues.eng.reserve.owners"},
      {R"({"owners":{"team":{"weight":3,"budget":9}}})", R"({"owners":{"team":{"weight":3}}})", "owners.team.budget"},
      {R"({"gates":{"lock:deploy":{"permits":2,"budget":9}}})", R"({"gates":{"lock:deploy":{"permits":2}}})",
       "gates.lock:deploy.budget"},
      {R"({"gates":{"all":{"permits":9},"moon:s":{"permits":1}}})", R"({"gates":{"all":{"permits":9}}})",
       "gates.moon:s"},
      {R"({"limits":{"depth":3,"sessions":8}})", R"({"limits":{"depth":3}})", "limits.sessions"},
      {R"({"health":{"lag":{"warning":1,"critical":2},"spend":{"warning":1}}})",
       R"({"health":{"lag":{"warning":1,"critical":2}}})", "health.spend"},
      {R"({"health":{"lag":{"warning":1,"critical":2,"fatal":3}}})", R"({"health":{"lag":{"warning":1,"critical":2}}})",
       "health.lag.fatal"},
  };
  for (const Newer& newer : cases) {
    const auto stored = read_stored_policy(newer.document);
    ASSERT_TRUE(stored) << newer.document << ": " << stored.error().message;
    EXPECT_EQ(stored->ignored, std::vector<std::string>{std::string(newer.ignored)});
    const auto known = parse_policy(newer.known);
    ASSERT_TRUE(known) << newer.known;
    EXPECT_EQ(stored->policy, *known) << newer.document;
    const auto applied = parse_policy(newer.document);
    ASSERT_FALSE(applied) << "at apply it is an error: " << newer.document;
    EXPECT_EQ(applied.error().code, ErrorCode::kInvalidConfig);
  }
}

TEST(StoredPolicy, ABadValueOfAKnownFieldIsStillAnError) {
  EXPECT_FALSE(read_stored_policy(R"({"types":{"eng":{"retry":"sometimes"}}})"));
  EXPECT_FALSE(read_stored_policy(R"({"store":"memory:"})"));
  EXPECT_FALSE(read_stored_policy("[]"));
}

TEST(StoredPolicy, AnUnknownFieldMayHaveAnyShape) {
  EXPECT_TRUE(read_stored_policy("types: &t {eng: {new: *t}}"));
}

}  // namespace
}  // namespace drover
