// A request of either era of MCP. A modern one says in every message which version it speaks and what its client can
// do; a legacy one says it once, in initialize, and a server that keeps no session does not need to know.
#pragma once

#include <array>
#include <expected>
#include <optional>
#include <string>
#include <string_view>

#include "mcp/json_rpc.h"

namespace drover::mcp {

inline constexpr std::string_view kModernVersion = "2026-07-28";
// Newest first.
inline constexpr std::array<std::string_view, 3> kLegacyVersions{"2025-11-25", "2025-06-18", "2025-03-26"};
inline constexpr std::string_view kTasksExtension = "io.modelcontextprotocol/tasks";

enum class Era : std::uint8_t { kModern, kLegacy };

struct Request {
  Message message;
  Era era = Era::kLegacy;
  bool knows_tasks = false;                     // its client declared the extension
  std::optional<std::string> progress_token{};  // JSON: a string or a number
};

// What HTTP says beside the message; absent on stdio.
struct HttpHeaders {
  std::optional<std::string> version;  // MCP-Protocol-Version
  std::optional<std::string> method;   // Mcp-Method
  std::optional<std::string> name;     // Mcp-Name
};

// Which era it is of, and whether it says what that era has to say. `headers` is null on stdio.
[[nodiscard]] std::expected<Request, RpcError> read_request(std::string_view text, const HttpHeaders* headers);

// The version in which initialize is answered: what the client asked for, or the newest of its era.
[[nodiscard]] std::string_view legacy_version(std::string_view asked_for);

// The status over HTTP of an error: of a request that could be read, and of one that could not.
inline constexpr int kUnreadableStatus = 400;
[[nodiscard]] int http_status(const RpcError& error, Era era);

}  // namespace drover::mcp
