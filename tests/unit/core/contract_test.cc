#include "core/contract.h"

#include <optional>

#include "base/json.h"
#include "records.h"

namespace drover {
namespace {

using namespace drover::testing;
using ContractText = std::optional<JsonText>;

json::Schema contract_schema(std::string_view text) {
  const auto document = json::parse(text);
  EXPECT_TRUE(document.has_value()) << text;
  auto schema = json::Schema::compile(*document);
  EXPECT_TRUE(schema.has_value()) << text;
  return *std::move(schema);
}

// An object whose "n", if it is there, is a number.
json::Schema contract_schema_of_n() {
  return contract_schema(R"({"type":"object","properties":{"n":{"type":"number"}}})");
}

// Empty if the value is valid.
std::string contract_refusal(const Status& status, ErrorCode code) {
  if (status) return "";
  EXPECT_EQ(status.error().code, code);
  return status.error().message;
}

TEST(Contract, NamesOfDecisionReport) {
  EXPECT_EQ(parse_decision_report("ignored"), DecisionReport::kIgnored);
  EXPECT_EQ(parse_decision_report("optional"), DecisionReport::kOptional);
  EXPECT_EQ(parse_decision_report("required"), DecisionReport::kRequired);
  EXPECT_EQ(parse_decision_report("Required"), std::nullopt);
}

TEST(Contract, DefaultsFillWhatAPayloadLacks) {
  struct Case {
    ContractText defaults;
    ContractText given;
    ContractText whole;
  };
  const Case cases[] = {
      {std::nullopt, std::nullopt, std::nullopt},
      {std::nullopt, R"({"a":1})", R"({"a":1})"},
      {R"({"a":1,"b":[2]})", std::nullopt, R"({"a":1,"b":[2]})"},
      {R"({"a":1,"b":[2]})", "{}", R"({"a":1,"b":[2]})"},
      {R"({"a":1,"b":[2]})", R"({"z":0.10})", R"({"z":0.10,"a":1,"b":[2]})"},
      {R"({"a":1,"b":[2]})", R"({"b":null})", R"({"b":null,"a":1})"},
      {R"({"a":1,"b":[2]})", R"({"b":3,"a":4})", R"({"b":3,"a":4})"},
      {R"({"a":{"x":1}})", R"({"a":{}})", R"({"a":{}})"},
      {R"({"say \"hi\"":"\n"})", "{}", R"({"say \"hi\"":"\n"})"},
      {R"({"a":1})", "[]", "[]"},
      {R"({"a":1})", "null", "null"},
      {"{}", R"({"b":3})", R"({"b":3})"},
  };
  for (const auto& [defaults, given, whole] : cases) {
    EXPECT_EQ(with_defaults(Contract{.payload_defaults = defaults}, given), whole)
        << defaults.value_or("none") << " for " << given.value_or("none");
  }
}

TEST(Contract, PayloadIsCheckedByItsSchemaAlone) {
  EXPECT_TRUE(check_payload(Contract{.result_schema = contract_schema("false")}, "[]"));
  const Contract contract{.payload_schema = contract_schema_of_n(), .result_schema = contract_schema("false")};
  const auto refusal = [&](const ContractText& payload) {
    return contract_refusal(check_payload(contract, payload), ErrorCode::kInvalidPayload);
  };
  EXPECT_EQ(refusal(R"({"n":1})"), "");
  EXPECT_EQ(refusal(R"({"n":"1"})"), "payload: /n: expected number, found string");
  EXPECT_TRUE(refusal(std::nullopt).ends_with("expected object, found null")) << refusal(std::nullopt);
  EXPECT_EQ(refusal(std::nullopt), refusal("null"));
}

TEST(Contract, FallbackIsCheckedAsAResultIfThereIsOne) {
  EXPECT_TRUE(check_fallback(Contract{.payload_schema = contract_schema("false")}, "[]"));
  const Contract contract{.payload_schema = contract_schema("false"),
                          .result_schema = contract_schema_of_n(),
                          .decision_report = DecisionReport::kRequired};
  const auto refusal = [&](const ContractText& fallback) {
    return contract_refusal(check_fallback(contract, fallback), ErrorCode::kInvalidPayload);
  };
  EXPECT_EQ(refusal(std::nullopt), "");
  EXPECT_EQ(refusal(R"({"n":1})"), "");
  EXPECT_EQ(refusal(R"({"n":"1"})"), "fallback_result: /n: expected number, found string");
}

TEST(Contract, ResultIsCheckedByItsSchema) {
  EXPECT_TRUE(check_result(Contract{.payload_schema = contract_schema("false")}, "[]"));
  const Contract contract{.result_schema = contract_schema_of_n()};
  const auto refusal = [&](const ContractText& result) {
    return contract_refusal(check_result(contract, result), ErrorCode::kInvalidResult);
  };
  EXPECT_EQ(refusal(R"({"n":1,"decision_report":5})"), "");
  EXPECT_EQ(refusal(R"({"n":"1"})"), "result: /n: expected number, found string");
  EXPECT_TRUE(refusal(std::nullopt).ends_with("expected object, found null")) << refusal(std::nullopt);
}

// A result with a whole report, but for its last part.
std::string contract_result(std::string_view next_steps) {
  return R"({"n":1,"decision_report":{"why":"w","what":["x"],"tradeoffs":{"t":0},"risks":"r","test_results":"ok")" +
         std::string(next_steps) + "}}";
}

std::string contract_report_refusal(DecisionReport rule, const ContractText& result) {
  return contract_refusal(check_result(Contract{.decision_report = rule}, result), ErrorCode::kInvalidResult);
}

TEST(Contract, ReportThatIsThereMustBeWhole) {
  struct Case {
    std::string result;
    std::string_view refusal;
  };
  constexpr std::string_view kNothingSaid =
      "result: /decision_report/next_steps: expected a text, list or object that is not empty";
  const Case cases[] = {
      {contract_result(R"(,"next_steps":"none")"), ""},
      {contract_result(R"(,"next_steps":[""])"), ""},
      {contract_result(R"(,"next_steps":{"then":null})"), ""},
      {contract_result(R"(,"next_steps":"")"), kNothingSaid},
      {contract_result(R"(,"next_steps":[])"), kNothingSaid},
      {contract_result(R"(,"next_steps":{})"), kNothingSaid},
      {contract_result(R"(,"next_steps":7)"), kNothingSaid},
      {contract_result(R"(,"next_steps":null)"), kNothingSaid},
      {contract_result(""), "result: /decision_report/next_steps: is missing"},
      {R"({"decision_report":{}})", "result: /decision_report/why: is missing"},
      {R"({"decision_report":"fine"})", "result: /decision_report: expected object, found string"},
      {R"({"decision_report":null})", "result: /decision_report: expected object, found null"},
  };
  for (const auto& [result, refusal] : cases) {
    EXPECT_EQ(contract_report_refusal(DecisionReport::kRequired, result), refusal) << result;
    EXPECT_EQ(contract_report_refusal(DecisionReport::kOptional, result), refusal) << result;
    EXPECT_EQ(contract_report_refusal(DecisionReport::kIgnored, result), "") << result;
  }
}

TEST(Contract, OnlyARequiredReportMayNotBeMissing) {
  const ContractText without[] = {std::nullopt, "null", "[]", "{}", R"({"why":"w"})"};
  for (const ContractText& result : without) {
    EXPECT_EQ(contract_report_refusal(DecisionReport::kRequired, result),
              "result: /decision_report: is missing; this type requires a decision report")
        << result.value_or("none");
    EXPECT_EQ(contract_report_refusal(DecisionReport::kOptional, result), "") << result.value_or("none");
  }
}

TEST(Contract, ResultNeedsBothReportAndShape) {
  const Contract contract{.result_schema = contract_schema(R"({"properties":{"n":{"const":2}}})"),
                          .decision_report = DecisionReport::kRequired};
  EXPECT_EQ(
      contract_refusal(check_result(contract, contract_result(R"(,"next_steps":"none")")), ErrorCode::kInvalidResult),
      "result: /n: expected 2, found 1");
  EXPECT_EQ(contract_refusal(check_result(contract, contract_result("")), ErrorCode::kInvalidResult),
            "result: /decision_report/next_steps: is missing");
}

TEST(Contract, FollowUpIsOfTheEndThatItNames) {
  const Contract none;
  const Contract both{.on_success = FollowUp{.type = "review"}, .on_failure = FollowUp{.type = "triage"}};
  for (const TaskState state : kAllStates) {
    EXPECT_EQ(follow_up_of(none, state), nullptr) << name_of(state);
    const FollowUp* expected = state == TaskState::kCompleted ? &*both.on_success
                               : state == TaskState::kFailed  ? &*both.on_failure
                                                              : nullptr;
    EXPECT_EQ(follow_up_of(both, state), expected) << name_of(state);
  }
}

constexpr std::string_view kContractCompletedHead =
    R"("task":{"id":"00000000-0000-0000-0000-000000000001","type":"eng","state":"completed","generation":3)";

Task contract_completed(ContractText result) {
  Task task = record_in(TaskState::kCompleted).task;
  task.generation = 3;
  task.result = std::move(result);
  return task;
}

TEST(Contract, FollowUpIsToldOfTheResult) {
  const std::string head(kContractCompletedHead);
  EXPECT_EQ(follow_up_payload({}, contract_completed(std::nullopt), 1'000), "{" + head + "}}");
  const Task task = contract_completed(R"({"pr":0.10})");
  EXPECT_EQ(follow_up_payload({}, task, 1'000), "{" + head + R"(,"result":{"pr":0.10}}})");
  EXPECT_EQ(follow_up_payload({.payload = "{}"}, task, 1'000), "{" + head + R"(,"result":{"pr":0.10}}})");
  EXPECT_EQ(follow_up_payload({.payload = R"({"depth":2})"}, task, 1'000),
            R"({"depth":2,)" + head + R"(,"result":{"pr":0.10}}})");
}

TEST(Contract, FollowUpIsToldOfTheError) {
  Task task = record_in(TaskState::kFailed).task;
  task.error = TaskError{ErrorClass::kTimeout, "no \"answer\""};
  EXPECT_EQ(follow_up_payload({}, task, 1'000),
            R"({"task":{"id":"00000000-0000-0000-0000-000000000001","type":"eng","state":"failed","generation":1,)"
            R"("error":{"class":"timeout","message":"no \"answer\""}}})");
}

TEST(Contract, ResultThatMakesAFollowUpTooLongIsLeftOut) {
  const FollowUp follow_up{.payload = R"({"depth":2})"};
  const Task task = contract_completed('"' + std::string(200, 'x') + '"');
  const JsonText whole = follow_up_payload(follow_up, task, 1'000);
  EXPECT_EQ(follow_up_payload(follow_up, task, whole.size()), whole);
  const std::string left_out = R"({"depth":2,)" + std::string(kContractCompletedHead) + R"(,"result_left_out":true}})";
  EXPECT_EQ(follow_up_payload(follow_up, task, whole.size() - 1), left_out);
  // Without a result nothing was left out, however long it is.
  EXPECT_EQ(follow_up_payload({}, contract_completed(std::nullopt), 1),
            "{" + std::string(kContractCompletedHead) + "}}");
}

TEST(Contract, EqualIfEveryTermIs) {
  const Contract contract{.payload_schema = contract_schema_of_n(), .on_success = FollowUp{.type = "review"}};
  Contract other = contract;
  other.payload_schema = contract_schema_of_n();
  EXPECT_EQ(contract, other);
  other.on_success->priority = 5;
  EXPECT_NE(contract, other);
  other = contract;
  other.payload_schema = contract_schema("true");
  EXPECT_NE(contract, other);
}

}  // namespace
}  // namespace drover
