#include "mcp/json_rpc.h"

#include "base/json.h"
#include "base/json_reader.h"
#include "base/try.h"

namespace drover::mcp {
namespace {

bool is_id(std::string_view json) {
  if (json.starts_with('"')) return true;
  const auto value = json::parse(json);
  return value && value->as_int().has_value();
}

// The members as they stand in the text.
struct Parts {
  std::string version;
  std::optional<std::string> id;
  std::string method;
  std::optional<std::string> params;
  bool is_answer = false;
};

std::expected<Parts, RpcError> read_parts(std::string_view text) {
  Parts parts;
  json::Reader in(text);
  in.get("jsonrpc", parts.version).get_any_text("id", parts.id).get("method", parts.method);
  in.get_text("params", parts.params);
  parts.is_answer = in.has("result") || in.has("error");
  if (const Status read = in.finish(); !read) {
    return std::unexpected(RpcError{.code = kInvalidRequest, .message = "Invalid request: " + read.error().message});
  }
  return parts;
}

}  // namespace

std::expected<Message, RpcError> read_message(std::string_view text) {
  const auto document = json::parse(text);
  if (!document) {
    return std::unexpected(RpcError{.code = kParseError, .message = "Parse error: " + document.error().message});
  }
  const auto refuse = [](std::string why, std::optional<std::string> id = std::nullopt) {
    return std::unexpected(
        RpcError{.code = kInvalidRequest, .message = "Invalid request: " + std::move(why), .id = std::move(id)});
  };
  if (document->as_array() != nullptr) return refuse("batches are not supported; send one message at a time");
  if (document->as_object() == nullptr) return refuse("a message is an object");
  Parts parts = TRY(read_parts(text));
  if (parts.id && !is_id(*parts.id)) return refuse("id must be a string or a whole number");
  if (parts.version != "2.0") return refuse("jsonrpc must be \"2.0\"", parts.id);
  if (parts.is_answer) return refuse("this server sends no requests, so it takes no answers");
  if (parts.method.empty()) return refuse("method is missing", parts.id);
  if (parts.params && !parts.params->starts_with('{')) return refuse("params must be an object", parts.id);
  return Message{
      .id = std::move(parts.id), .method = std::move(parts.method), .params = std::move(parts.params).value_or("{}")};
}

std::string result_message(const std::string& id, std::string_view result) {
  json::Writer out;
  out.begin_object().key("jsonrpc").string("2.0").key("id").raw(id).key("result").raw(result).end_object();
  return std::move(out).take();
}

std::string error_message(const RpcError& error) {
  json::Writer out;
  out.begin_object().key("jsonrpc").string("2.0").key("id").raw(error.id.value_or("null"));
  out.key("error").begin_object().key("code").number(error.code).key("message").string(error.message);
  if (!error.data.empty()) out.key("data").raw(error.data);
  out.end_object().end_object();
  return std::move(out).take();
}

std::string notification(std::string_view method, std::string_view params) {
  json::Writer out;
  out.begin_object().key("jsonrpc").string("2.0").key("method").string(method).key("params").raw(params).end_object();
  return std::move(out).take();
}

}  // namespace drover::mcp
