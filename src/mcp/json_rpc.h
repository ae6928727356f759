// JSON-RPC 2.0 as MCP uses it: one message in, one message out, all of it text.
#pragma once

#include <expected>
#include <optional>
#include <string>
#include <string_view>

namespace drover::mcp {

// JSON-RPC's own codes, and those that MCP reserves.
inline constexpr int kParseError = -32'700;
inline constexpr int kInvalidRequest = -32'600;
inline constexpr int kMethodNotFound = -32'601;
inline constexpr int kInvalidParams = -32'602;
inline constexpr int kInternalError = -32'603;
inline constexpr int kHeaderMismatch = -32'020;
inline constexpr int kMissingCapability = -32'021;
inline constexpr int kUnsupportedVersion = -32'022;

// A request, or a notification if it has no id.
struct Message {
  std::optional<std::string> id;  // its JSON: a string or a whole number
  std::string method;
  std::string params = "{}";  // the JSON of an object
};

struct RpcError {
  int code = kInternalError;
  std::string message;
  std::string data{};               // JSON; empty: none
  std::optional<std::string> id{};  // JSON, as far as it could be read
};

// What is no request and no notification is an error: also a batch, and an answer to a request that nobody made.
[[nodiscard]] std::expected<Message, RpcError> read_message(std::string_view text);

[[nodiscard]] std::string result_message(const std::string& id, std::string_view result);
[[nodiscard]] std::string error_message(const RpcError& error);
// `params` is the JSON of an object.
[[nodiscard]] std::string notification(std::string_view method, std::string_view params);

}  // namespace drover::mcp
