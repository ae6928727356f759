#include "mcp/request.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/json.h"
#include "base/json_reader.h"

namespace drover::mcp {
namespace {

constexpr std::string_view kVersionKey = "io.modelcontextprotocol/protocolVersion";
constexpr std::string_view kCapabilitiesKey = "io.modelcontextprotocol/clientCapabilities";
constexpr int kNotFound = 404;
constexpr int kOk = 200;

// What params._meta says.
struct Meta {
  std::optional<std::string> version;
  bool has_capabilities = false;
  bool knows_tasks = false;
  std::optional<std::string> progress_token;
};

RpcError bad_params(const Message& message, std::string why) {
  return {.code = kInvalidParams, .message = "Invalid params: " + std::move(why), .id = message.id};
}

std::expected<Meta, RpcError> read_meta(const Message& message) {
  Meta meta;
  const auto params = json::parse(message.params);
  const json::Value* found = params ? params->find("_meta") : nullptr;
  if (found == nullptr) return meta;
  if (found->as_object() == nullptr) return std::unexpected(bad_params(message, "_meta must be an object"));
  if (const json::Value* version = found->find(kVersionKey)) {
    if (version->as_string() == nullptr) {
      return std::unexpected(bad_params(message, fmt::format("_meta.{} must be a string", kVersionKey)));
    }
    meta.version = *version->as_string();
  }
  if (const json::Value* capabilities = found->find(kCapabilitiesKey)) {
    if (capabilities->as_object() == nullptr) {
      return std::unexpected(bad_params(message, fmt::format("_meta.{} must be an object", kCapabilitiesKey)));
    }
    meta.has_capabilities = true;
    const json::Value* extensions = capabilities->find("extensions");
    meta.knows_tasks = extensions != nullptr && extensions->find(kTasksExtension) != nullptr;
  }
  if (const json::Value* token = found->find("progressToken")) {
    if (token->as_string() == nullptr && token->as_number() == nullptr) {
      return std::unexpected(bad_params(message, "_meta.progressToken must be a string or a number"));
    }
    meta.progress_token = json::dump(*token);
  }
  return meta;
}

RpcError unsupported(const Message& message, std::string_view asked_for) {
  json::Writer data;
  data.begin_object().key("supported").begin_array().string(kModernVersion);
  for (const std::string_view version : kLegacyVersions) data.string(version);
  data.end_array().key("requested").string(asked_for).end_object();
  return {.code = kUnsupportedVersion,
          .message = "Unsupported protocol version",
          .data = std::move(data).take(),
          .id = message.id};
}

// "=?base64?…?=" is how a client sends what is no plain header value. Nothing: it is damaged.
std::optional<std::string> decoded(const std::string& value) {
  constexpr std::string_view kBefore = "=?base64?";
  constexpr std::string_view kAfter = "?=";
  constexpr std::string_view kLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  if (!value.starts_with(kBefore) || !value.ends_with(kAfter) || value.size() < kBefore.size() + kAfter.size()) {
    return value;
  }
  std::string_view text(value);
  text.remove_prefix(kBefore.size());
  text.remove_suffix(kAfter.size());
  while (text.ends_with('=')) text.remove_suffix(1);
  std::string bytes;
  unsigned bits = 0;
  int held = 0;
  for (const char letter : text) {
    const std::size_t digit = kLetters.find(letter);
    if (digit == std::string_view::npos) return std::nullopt;
    bits = (bits << 6U | static_cast<unsigned>(digit)) & 0xFFFFU;
    held += 6;
    if (held < 8) continue;
    held -= 8;
    bytes += static_cast<char>(bits >> static_cast<unsigned>(held) & 0xFFU);
  }
  return bytes;
}

// What Mcp-Name has to repeat, if the method has such a thing.
std::optional<std::string> name_in(const Message& message) {
  const bool is_call = message.method == "tools/call";
  const bool follows =
      message.method == "tasks/get" || message.method == "tasks/update" || message.method == "tasks/cancel";
  if (!is_call && !follows) return std::nullopt;
  const auto params = json::parse(message.params);
  const json::Value* name = params ? params->find(is_call ? "name" : "taskId") : nullptr;
  return name != nullptr && name->as_string() != nullptr ? std::optional(*name->as_string()) : std::nullopt;
}

std::optional<RpcError> header_mismatch(const Message& message, const Meta& meta, const HttpHeaders& headers) {
  const auto mismatch = [&](std::string_view header, const std::optional<std::string>& value,
                            const std::string& body) -> std::optional<RpcError> {
    if (value == body) return std::nullopt;
    const std::string what =
        value ? fmt::format("value {} does not match body value {}", json::quote(*value), json::quote(body))
              : "is missing";
    return RpcError{.code = kHeaderMismatch,
                    .message = fmt::format("Header mismatch: {} header {}", header, what),
                    .id = message.id};
  };
  if (auto wrong = mismatch("MCP-Protocol-Version", headers.version, meta.version.value_or(""))) return wrong;
  if (!message.id) return std::nullopt;
  if (auto wrong = mismatch("Mcp-Method", headers.method, message.method)) return wrong;
  const auto name = name_in(message);
  if (!name) return std::nullopt;
  return mismatch("Mcp-Name", headers.name ? decoded(*headers.name) : std::nullopt, *name);
}

bool is_legacy(std::string_view version) {
  return std::ranges::find(kLegacyVersions, version) != kLegacyVersions.end();
}

std::optional<RpcError> check_modern(const Message& message, const Meta& meta, const HttpHeaders* headers) {
  if (!meta.version) return bad_params(message, fmt::format("_meta.{} is missing", kVersionKey));
  if (headers != nullptr) {
    if (auto wrong = header_mismatch(message, meta, *headers)) return wrong;
  }
  if (*meta.version != kModernVersion) return unsupported(message, *meta.version);
  // A notification may leave it out.
  if (message.id && !meta.has_capabilities) {
    return bad_params(message, fmt::format("_meta.{} is missing", kCapabilitiesKey));
  }
  return std::nullopt;
}

}  // namespace

std::expected<Request, RpcError> read_request(std::string_view text, const HttpHeaders* headers) {
  auto message = read_message(text);
  if (!message) return std::unexpected(std::move(message.error()));
  auto meta = read_meta(*message);
  if (!meta) return std::unexpected(std::move(meta.error()));
  const bool header_is_modern = headers != nullptr && headers->version == kModernVersion;
  const bool is_modern = meta->version || header_is_modern || message->method == "server/discover";
  if (is_modern) {
    if (auto wrong = check_modern(*message, *meta, headers)) return std::unexpected(*std::move(wrong));
  } else if (headers != nullptr && headers->version && !is_legacy(*headers->version)) {
    return std::unexpected(unsupported(*message, *headers->version));
  }
  return Request{.message = *std::move(message),
                 .era = is_modern ? Era::kModern : Era::kLegacy,
                 .knows_tasks = is_modern && meta->knows_tasks,
                 .progress_token = std::move(meta->progress_token)};
}

std::string_view legacy_version(std::string_view asked_for) {
  const auto* const found = std::ranges::find(kLegacyVersions, asked_for);
  return found != kLegacyVersions.end() ? *found : kLegacyVersions.front();
}

int http_status(const RpcError& error, Era era) {
  if (era == Era::kLegacy) return kOk;
  if (error.code == kMethodNotFound) return kNotFound;
  return error.code == kMissingCapability ? kUnreadableStatus : kOk;
}

}  // namespace drover::mcp
