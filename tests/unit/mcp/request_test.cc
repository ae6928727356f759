#include "mcp/request.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace drover::mcp {
namespace {

constexpr std::string_view kMeta =
    R"("_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}})";

std::string modern(std::string_view method, std::string_view params = "") {
  return fmt::format(R"({{"jsonrpc":"2.0","id":1,"method":"{}","params":{{{}{}{}}}}})", method, params,
                     params.empty() ? "" : ",", kMeta);
}

struct Case {
  std::string what;
  std::string text;
  int code;
  std::optional<std::string> id{};
};

TEST(McpRequest, WhatIsNoMessageIsRefused) {
  const Case cases[] = {
      {"no JSON", "{", kParseError},
      {"two values", "{} {}", kParseError},
      {"a key twice", R"({"jsonrpc":"2.0","id":1,"id":2,"method":"ping"})", kParseError},
      {"a batch", R"([{"jsonrpc":"2.0","id":1,"method":"ping"}])", kInvalidRequest},
      {"a number", "1", kInvalidRequest},
      {"no version", R"({"id":1,"method":"ping"})", kInvalidRequest, "1"},
      {"another version", R"({"jsonrpc":"1.0","id":"a","method":"ping"})", kInvalidRequest, R"("a")"},
      {"no method", R"({"jsonrpc":"2.0","id":1})", kInvalidRequest, "1"},
      {"a method that is no text", R"({"jsonrpc":"2.0","id":1,"method":3})", kInvalidRequest},
      {"an answer", R"({"jsonrpc":"2.0","id":1,"result":{}})", kInvalidRequest},
      {"an id that is null", R"({"jsonrpc":"2.0","id":null,"method":"ping"})", kInvalidRequest},
      {"an id that is a fraction", R"({"jsonrpc":"2.0","id":1.5,"method":"ping"})", kInvalidRequest},
      {"an id that is an object", R"({"jsonrpc":"2.0","id":{},"method":"ping"})", kInvalidRequest},
      {"params that are a list", R"({"jsonrpc":"2.0","id":1,"method":"ping","params":[]})", kInvalidRequest, "1"},
      {"_meta that is a text", R"({"jsonrpc":"2.0","id":1,"method":"ping","params":{"_meta":"x"}})", kInvalidParams,
       "1"},
      {"discover without _meta", R"({"jsonrpc":"2.0","id":1,"method":"server/discover"})", kInvalidParams, "1"},
      {"modern without capabilities",
       R"({"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}})",
       kInvalidParams, "1"},
      {"a version of the future",
       R"({"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2099-01-01"}}})",
       kUnsupportedVersion, "1"},
  };
  for (const Case& one : cases) {
    const auto request = read_request(one.text, nullptr);
    ASSERT_FALSE(request.has_value()) << one.what;
    EXPECT_EQ(request.error().code, one.code) << one.what;
    EXPECT_EQ(request.error().id, one.id) << one.what;
  }
}

TEST(McpRequest, TheErasAreToldApart) {
  const auto legacy = read_request(R"({"jsonrpc":"2.0","id":"x","method":"tools/list"})", nullptr);
  ASSERT_TRUE(legacy.has_value());
  EXPECT_EQ(legacy->era, Era::kLegacy);
  EXPECT_EQ(legacy->message.id, R"("x")");
  const auto now = read_request(modern("tools/list"), nullptr);
  ASSERT_TRUE(now.has_value());
  EXPECT_EQ(now->era, Era::kModern);
  EXPECT_FALSE(now->knows_tasks);
}

TEST(McpRequest, UnsupportedVersionNamesThoseThatAre) {
  const auto request = read_request(
      R"({"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"1900-01-01"}}})",
      nullptr);
  EXPECT_EQ(request.error().data,
            R"({"supported":["2026-07-28","2025-11-25","2025-06-18","2025-03-26"],"requested":"1900-01-01"})");
}

TEST(McpRequest, ReadsWhatTheClientCanDo) {
  const auto request = read_request(
      R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"_meta":{"progressToken":7,)"
      R"("io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":)"
      R"({"extensions":{"io.modelcontextprotocol/tasks":{}}}}}})",
      nullptr);
  ASSERT_TRUE(request.has_value());
  EXPECT_TRUE(request->knows_tasks);
  EXPECT_EQ(request->progress_token, "7");
}

TEST(McpRequest, HeadersHaveToSayTheSame) {
  const std::string call = modern("tools/call", R"("name":"get_task","arguments":{})");
  const auto code = [&](const std::string& text, const HttpHeaders& headers) {
    const auto request = read_request(text, &headers);
    return request ? 0 : request.error().code;
  };
  const std::string version = "2026-07-28";
  EXPECT_EQ(code(call, {.version = version, .method = "tools/call", .name = "get_task"}), 0);
  EXPECT_EQ(code(call, {.version = version, .method = "tools/call", .name = "=?base64?Z2V0X3Rhc2s=?="}), 0);
  EXPECT_EQ(code(call, {.version = version, .method = "tools/call", .name = "=?base64?%%?="}), kHeaderMismatch);
  EXPECT_EQ(code(call, {.version = version, .method = "tools/call", .name = "other"}), kHeaderMismatch);
  EXPECT_EQ(code(call, {.version = version, .method = "tools/call", .name = {}}), kHeaderMismatch);
  EXPECT_EQ(code(call, {.version = version, .method = "tools/list", .name = "get_task"}), kHeaderMismatch);
  EXPECT_EQ(code(call, {.version = version, .method = {}, .name = "get_task"}), kHeaderMismatch);
  EXPECT_EQ(code(call, {.version = {}, .method = "tools/call", .name = "get_task"}), kHeaderMismatch);
  EXPECT_EQ(code(call, {.version = "2025-11-25", .method = "tools/call", .name = "get_task"}), kHeaderMismatch);
  EXPECT_EQ(code(modern("tools/list"), {.version = version, .method = "tools/list", .name = {}}), 0);
}

TEST(McpRequest, ALegacyHeaderIsEnoughForLegacy) {
  const std::string text = R"({"jsonrpc":"2.0","id":1,"method":"tools/list"})";
  const auto code = [&](const HttpHeaders& headers) {
    const auto request = read_request(text, &headers);
    return request ? 0 : request.error().code;
  };
  EXPECT_EQ(code({}), 0);
  EXPECT_EQ(code({.version = "2025-06-18", .method = {}, .name = {}}), 0);
  EXPECT_EQ(code({.version = "1900-01-01", .method = {}, .name = {}}), kUnsupportedVersion);
  EXPECT_EQ(code({.version = "2026-07-28", .method = "tools/list", .name = {}}), kInvalidParams);
}

TEST(McpRequest, InitializeIsAnsweredInAVersionOfItsEra) {
  EXPECT_EQ(legacy_version("2025-03-26"), "2025-03-26");
  EXPECT_EQ(legacy_version("2024-11-05"), "2025-11-25");
  EXPECT_EQ(legacy_version("2026-07-28"), "2025-11-25");
}

}  // namespace
}  // namespace drover::mcp
