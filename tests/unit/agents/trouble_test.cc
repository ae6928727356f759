// Which class an error is, by its words and its status.
#include "agents/trouble.h"

#include <gtest/gtest.h>

#include "unit/agents/fixture.h"

namespace drover::agents {
namespace {

std::string_view class_of_text(std::string text) {
  return name_of(class_of({.text = std::move(text)}));
}

TEST(Trouble, ClassesByText) {
  struct Case {
    std::string_view expected;
    std::vector<std::string> texts;
  };
  const std::vector<Case> cases{
      {"rate_limited",
       {"exceeded retry limit, last status: 429 Too Many Requests, request id: x",
        "API Error: Request rejected (429) · This request would exceed your organization's rate limit of 50 requests "
        "per minute.",
        "stream disconnected before completion: Rate limit reached for gpt-5 in organization org on tokens per min "
        "(TPM)",
        "Resource has been exhausted (e.g. check quota).",
        "[API Error: ?]\nPlease wait and try again later. To increase your limits, request a quota increase through AI "
        "Studio, "
        "or switch to another /auth method",
        "unexpected status 429", "Quota exceeded for requests per minute"}},
      {"quota_exhausted",
       {"You’ve hit your usage limit. Upgrade to Pro (https://chatgpt.com/explore/pro), visit x to purchase more "
        "credits or try "
        "again later.",
        "You've hit your limit · resets 1pm (Europe/Lisbon)", "Claude AI usage limit reached|1763236800",
        "5-hour limit reached ∙ resets 3pm", "You've hit your weekly limit",
        "You've hit your session limit · resets 6pm", "[API Error: You have exhausted your daily quota on this model.]",
        "You're out of extra usage · resets 3pm"}},
      {"billing",
       {"Quota exceeded. Check your plan and billing details.", "Credit balance is too low",
        "Your workspace is out of credits. Add credits to continue.",
        "You hit your spend cap set in your workspace. Increase your spend cap to continue.",
        "Your prepayment credits are depleted. Please go to AI Studio to manage your project and billing.",
        "Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or "
        "purchase credits."}},
      {"overloaded",
       {"Selected model is at capacity. Please try a different model.", "API Error: 529 Overloaded",
        "We're currently experiencing high demand, which may cause temporary errors.",
        "unexpected status 503 Service Unavailable", "The model is overloaded. Please try again later."}},
      {"auth",
       {"unexpected status 401 Unauthorized: Incorrect API key provided, url: http://127.0.0.1:40548/v1/responses",
        "Invalid API key · Fix external API key", "Not logged in · Please run /login",
        "Your access token could not be refreshed because you have since logged out. Please sign in again.",
        "API key not valid. Please pass a valid API key.", "OAuth token has expired", "Missing LETTA_API_KEY"}},
      {"context_too_long",
       {"prompt is too long: 210000 tokens > 200000 maximum",
        "Codex ran out of room in the model's context window. Start a new thread or clear earlier history before "
        "retrying.",
        "Your input exceeds the context window of this model.", "API Error: 413 too large",
        "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576)."}},
      {"max_turns",
       {"Reached max session turns for this session.", "Maximum turns limit reached (3/3 steps)",
        "Reached maximum number of turns (3)"}},
      {"invalid", {"There's an issue with the selected model (x). It may not exist", "The model `x` does not exist"}},
      {"agent_error",
       {"", "Connection error.", "API Error: 500 Internal server error. This is a server-side issue",
        "stream disconnected before completion: error sending request", "Invalid value for 'input'.", "429",
        "port 4290 is in use"}},
  };
  for (const Case& group : cases) {
    for (const std::string& text : group.texts) EXPECT_EQ(class_of_text(text), group.expected) << text;
  }
}

TEST(Trouble, ClassesByTheMachinesWords) {
  const auto of_type = [](std::string type, std::optional<int> status = std::nullopt) {
    return name_of(class_of({.text = "?", .type = std::move(type), .status = status}));
  };
  EXPECT_EQ(of_type("rate_limit"), "rate_limited");
  EXPECT_EQ(of_type("requests rate_limit_exceeded"), "rate_limited");
  EXPECT_EQ(of_type("overloaded_error"), "overloaded");
  EXPECT_EQ(of_type("authentication_failed"), "auth");
  EXPECT_EQ(of_type("invalid_request_error billing_error", 400), "billing");
  EXPECT_EQ(of_type("insufficient_quota", 429), "billing");
  EXPECT_EQ(of_type("usage_limit_reached", 429), "quota_exhausted");
  EXPECT_EQ(of_type("context_length_exceeded", 400), "context_too_long");
  EXPECT_EQ(of_type("ContextOverflowError"), "context_too_long");
  EXPECT_EQ(of_type("ProviderAuthError"), "auth");
  EXPECT_EQ(of_type("model_not_found", 404), "invalid");
  EXPECT_EQ(of_type("error_max_turns"), "max_turns");
  EXPECT_EQ(of_type("max_steps"), "max_turns");
  EXPECT_EQ(of_type("server_error", 500), "agent_error");
  EXPECT_EQ(of_type("invalid_request", 400), "agent_error");
  EXPECT_EQ(of_type("", 529), "overloaded");
  EXPECT_EQ(of_type("", 429), "rate_limited");
  EXPECT_EQ(of_type("", 402), "billing");
  EXPECT_EQ(of_type("", 403), "auth");
}

TEST(Trouble, AStrangersTextThrottlesNobody) {
  EXPECT_EQ(name_of(class_of_stranger("Error: 429 rate limit")), "agent_error");
  EXPECT_EQ(name_of(class_of_stranger("You've hit your usage limit")), "agent_error");
  EXPECT_EQ(name_of(class_of_stranger("Not logged in")), "auth");
}

TEST(Trouble, ReadsMembersUnderTheirUsualNames) {
  const auto read = [](std::string_view json) {
    Trouble trouble;
    read_members(*json::parse(json), kClock, trouble);
    return trouble;
  };
  EXPECT_EQ(read(R"({"statusCode":429,"type":"a","code":"b"})").status, 429);
  EXPECT_EQ(read(R"({"statusCode":429,"type":"a","code":"b"})").type, "a b");
  EXPECT_EQ(read(R"({"code":1,"status":"UNAVAILABLE"})").status, std::nullopt);
  EXPECT_EQ(read(R"({"retry_after":3})").wait.retry_after, Millis(3'000));
  EXPECT_EQ(read(R"({"retry_after":"3"})").wait.retry_after, Millis(3'000));
  EXPECT_EQ(read(R"({"retry_after_ms":1500})").wait.retry_after, Millis(1'500));
  EXPECT_EQ(read(R"({"resets_in_seconds":60})").wait.retry_after, Millis(60'000));
  EXPECT_EQ(read(R"({"resetsAt":1763236800})").wait.reset_at, *parse_time("2025-11-15T20:00:00Z"));
  EXPECT_EQ(read(R"({"resets_at":"2026-11-15T20:00:00Z"})").wait.reset_at, *parse_time("2026-11-15T20:00:00Z"));
  EXPECT_EQ(read(R"({"resets_at":"soon","retry_after":{}})").wait, SaidWait{});
}

TEST(Trouble, JsonInATextCountsWhole) {
  const Trouble trouble = trouble_of(R"({"type":"error","status":429,"error":{"code":"x","message":"Slow."}})");
  EXPECT_EQ(trouble.text, "Slow.");
  EXPECT_EQ(name_of(class_of(trouble)), "rate_limited");
  EXPECT_EQ(name_of(class_of(trouble_of(R"({"error":{"code":"context_length_exceeded","message":"No."}})"))),
            "context_too_long");
  EXPECT_EQ(trouble_of("plain").type, "");
}

TEST(Trouble, InnermostMessages) {
  EXPECT_EQ(innermost_message("plain"), "plain");
  EXPECT_EQ(innermost_message(R"({"error": {"error": {"message": "inside", "detail": "x"}}})"), "inside");
  EXPECT_EQ(innermost_message(R"({"message": "{\"detail\":\"deep\"}"})"), "deep");
  EXPECT_EQ(innermost_message(R"({"other": 1})"), R"({"other": 1})");
  EXPECT_EQ(innermost_message("{broken"), "{broken");
}

}  // namespace
}  // namespace drover::agents
