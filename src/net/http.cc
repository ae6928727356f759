#include "net/http.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/beast/core/error.hpp>
#include <boost/beast/http/field.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/status.hpp>
#include <boost/beast/http/string_body.hpp>
#include <cctype>
#include <iterator>
#include <utility>

#include "base/json.h"

namespace drover {
namespace {

namespace http = boost::beast::http;
using ResponseParser = http::response_parser<http::string_body>;
using ErrorCodeOf = boost::beast::error_code;

std::string reason_of(int status) {
  return std::string(http::obsolete_reason(static_cast<http::status>(status)));
}

HttpError http_error(const ErrorCodeOf& error) {
  if (error == http::error::body_limit) {
    return {413, fmt::format("the body has more than {} bytes", kHttpBodyBytesMax)};
  }
  if (error == http::error::header_limit) {
    return {431, fmt::format("the header has more than {} bytes", kHttpHeaderBytesMax)};
  }
  return {400, fmt::format("this is no HTTP/1.1: {}", error.message())};
}

// Of what a parser has not taken: a line that is not whole yet.
constexpr std::size_t kWaitingMax = 2 * kHttpHeaderBytesMax;

// Feeds as much as the parser takes, and drops it from `bytes`.
std::expected<void, HttpError> put(ResponseParser& parser, std::string& bytes) {
  const bool is_in_chunks = parser.is_header_done() && !parser.is_done() && parser.chunked();
  // Of an end that it has begun to read Beast takes the whole for granted, and aborts the process on less.
  if (is_in_chunks && bytes.size() < kHttpLastChunk.size()) return {};
  ErrorCodeOf error;
  const std::size_t taken = parser.put(boost::asio::buffer(bytes), error);
  bytes.erase(0, taken);
  if (error && error != http::error::need_more) return std::unexpected(http_error(error));
  if (!parser.is_done() && bytes.size() > kWaitingMax) {
    return std::unexpected(HttpError{400, fmt::format("a line has more than {} bytes", kWaitingMax)});
  }
  return {};
}

HttpHeaders headers_of(const http::fields& fields) {
  HttpHeaders headers;
  for (const auto& field : fields) {
    std::string name(field.name_string());
    std::ranges::transform(name, name.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    headers.emplace_back(std::move(name), std::string(field.value()));
  }
  return headers;
}

std::string_view find_header(const HttpHeaders& headers, std::string_view name) {
  const auto found = std::ranges::find(headers, name, &HttpHeaders::value_type::first);
  return found != headers.end() ? std::string_view(found->second) : std::string_view{};
}

void append_headers(std::string& text, const HttpHeaders& headers) {
  for (const auto& [name, value] : headers) fmt::format_to(std::back_inserter(text), "{}: {}\r\n", name, value);
}

}  // namespace

std::string_view HttpRequest::header(std::string_view name) const {
  return find_header(headers, name);
}
std::string_view HttpResponse::header(std::string_view name) const {
  return find_header(headers, name);
}

struct HttpResponseReader::Impl {
  ResponseParser parser;
  std::string waiting;
};

HttpResponseReader::HttpResponseReader() : impl_(std::make_unique<Impl>()) {
  impl_->parser.header_limit(kHttpHeaderBytesMax);
  impl_->parser.body_limit(kHttpBodyBytesMax);
  impl_->parser.eager(true);
}
HttpResponseReader::~HttpResponseReader() = default;

std::expected<void, HttpError> HttpResponseReader::feed(std::string_view bytes) {
  impl_->waiting.append(bytes);
  return put(impl_->parser, impl_->waiting);
}

std::expected<void, HttpError> HttpResponseReader::end_of_stream() {
  if (!impl_->parser.got_some()) return std::unexpected(HttpError{400, "there is no answer"});
  ErrorCodeOf error;
  impl_->parser.put_eof(error);
  if (error) return std::unexpected(http_error(error));
  return {};
}

bool HttpResponseReader::is_whole() const {
  return impl_->parser.is_done();
}

HttpResponse HttpResponseReader::take() {
  auto message = impl_->parser.release();
  return {.status = static_cast<int>(message.result_int()),
          .content_type = std::string(message[http::field::content_type]),
          .body = std::move(message.body()),
          .keep_alive = message.keep_alive(),
          .headers = headers_of(message)};
}

std::string format_request(const HttpRequest& request) {
  std::string text = fmt::format("{} {} HTTP/1.1\r\n", request.method, request.target);
  if (request.header("host").empty()) text += "Host: drover\r\n";
  append_headers(text, request.headers);
  if (!request.body.empty() && request.header("content-type").empty()) text += "Content-Type: application/json\r\n";
  text += fmt::format("Content-Length: {}\r\nConnection: {}\r\n\r\n", request.body.size(),
                      request.keep_alive ? "keep-alive" : "close");
  return text + request.body;
}

std::string format_response(const HttpResponse& response) {
  return format_response_head(response, HttpFraming::kLength) + response.body;
}

std::string format_response_head(const HttpResponse& response, HttpFraming framing) {
  constexpr int kNoContent = 204;
  std::string text = fmt::format("HTTP/1.1 {} {}\r\n", response.status, reason_of(response.status));
  if (response.status != kNoContent)
    fmt::format_to(std::back_inserter(text), "Content-Type: {}\r\n", response.content_type);
  if (framing == HttpFraming::kChunks) text += "Transfer-Encoding: chunked\r\n";
  if (framing == HttpFraming::kLength && response.status != kNoContent) {
    fmt::format_to(std::back_inserter(text), "Content-Length: {}\r\n", response.body.size());
  }
  append_headers(text, response.headers);
  text += response.keep_alive ? "Connection: keep-alive\r\n\r\n" : "Connection: close\r\n\r\n";
  return text;
}

std::string format_chunk_head(std::size_t bytes) {
  return fmt::format("{:x}\r\n", bytes);
}

std::string format_stream_head(int status, const HttpHeaders& headers) {
  std::string text = fmt::format("HTTP/1.1 {} {}\r\n", status, reason_of(status));
  append_headers(text, headers);
  return text + "\r\n";
}

HttpResponse problem(const Error& error) {
  return problem(error_info(error.code).http_status, error);
}

HttpResponse problem(int status, const Error& error) {
  json::Writer out;
  out.begin_object();
  out.key("type").string("about:blank");
  out.key("title").string(reason_of(status));
  out.key("status").number(status);
  out.key("code").string(error_info(error.code).name);
  out.key("detail").string(error.message);
  out.end_object();
  return {.status = status, .content_type = "application/problem+json", .body = std::move(out).take() + "\n"};
}

HttpResponse problem(const HttpError& error) {
  constexpr int kTooLarge = 413;
  const ErrorCode code = error.status == kTooLarge ? ErrorCode::kPayloadTooLarge : ErrorCode::kInvalidArgument;
  return problem(error.status, Error{code, error.message, {}});
}

Error error_of_problem(const HttpResponse& response) {
  Error error{
      ErrorCode::kInternal, fmt::format("the answer was {} {}", response.status, reason_of(response.status)), {}};
  const auto body = json::parse(response.body);
  if (!body) return error;
  const json::Value* code = body->find("code");
  const json::Value* detail = body->find("detail");
  if (code != nullptr && code->as_string() != nullptr) {
    error.code = error_code_from_name(*code->as_string()).value_or(ErrorCode::kInternal);
  }
  if (detail != nullptr && detail->as_string() != nullptr) error.message = *detail->as_string();
  return error;
}

}  // namespace drover
