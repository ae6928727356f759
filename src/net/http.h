// HTTP/1.1 without I/O: bytes in, requests and responses out. Boost.Beast reads responses, in http.cc only; requests
// come from anybody, and are read by a stricter reader of our own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "drover/error.h"
#include "net/http_error.h"

namespace drover {

inline constexpr std::size_t kHttpHeaderBytesMax = 16 * 1024;
inline constexpr std::size_t kHttpFieldsMax = 100;  // of a request's header
inline constexpr std::size_t kHttpBodyBytesMax = 16 * 1024 * 1024;

using HttpHeaders = std::vector<std::pair<std::string, std::string>>;  // names in lower case

struct HttpRequest {
  std::string method;  // "GET"
  std::string target;  // "/v1/task"
  std::string body;
  bool keep_alive = true;
  HttpHeaders headers{};
  bool takes_chunks = true;  // HTTP/1.0 does not
  std::string peer{};        // the address it came from; set by the server

  // Empty where there is none. The name is in lower case.
  [[nodiscard]] std::string_view header(std::string_view name) const;
};

struct HttpResponse {
  int status = 200;
  std::string content_type = "application/json";  // empty together with the body
  std::string body;
  bool keep_alive = true;
  HttpHeaders headers{};  // beside those that the other members make

  [[nodiscard]] std::string_view header(std::string_view name) const;
};

// Cuts a byte stream into requests. Limits: kHttpHeaderBytesMax, kHttpFieldsMax, body_bytes_max and those of
// ChunkReader.
class HttpRequestReader {
 public:
  explicit HttpRequestReader(std::size_t body_bytes_max = kHttpBodyBytesMax);
  ~HttpRequestReader();
  HttpRequestReader(HttpRequestReader&&) noexcept;
  HttpRequestReader& operator=(HttpRequestReader&&) noexcept;

  void feed(std::string_view bytes);
  // The next whole request, if there is one. After an error the stream cannot be read any further.
  [[nodiscard]] std::expected<std::optional<HttpRequest>, HttpError> next();
  // Once per request: its header is here and it waits for "100 Continue" before it sends the body.
  [[nodiscard]] bool wants_continue();
  // Whether part of a request is here; whether that has its whole header.
  [[nodiscard]] bool is_within_request() const;
  [[nodiscard]] bool has_header() const;
  // Bytes in memory: of requests that were not taken yet.
  [[nodiscard]] std::size_t held() const;
  // Forgets them; nothing more is read.
  void clear() noexcept;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Reads one response; the end of the stream may be its end.
class HttpResponseReader {
 public:
  HttpResponseReader();
  ~HttpResponseReader();

  [[nodiscard]] std::expected<void, HttpError> feed(std::string_view bytes);
  [[nodiscard]] std::expected<void, HttpError> end_of_stream();
  [[nodiscard]] bool is_whole() const;
  [[nodiscard]] HttpResponse take();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

[[nodiscard]] std::string format_request(const HttpRequest& request);
[[nodiscard]] std::string format_response(const HttpResponse& response);
// The same without the body. kChunks: that comes in chunks, for whose size nobody has to wait; kUntilClose: it ends
// with the connection.
enum class HttpFraming : std::uint8_t { kLength, kChunks, kUntilClose };
[[nodiscard]] std::string format_response_head(const HttpResponse& response, HttpFraming framing);
// What comes before the bytes of a chunk; CR LF comes after them.
[[nodiscard]] std::string format_chunk_head(std::size_t bytes);
inline constexpr std::string_view kHttpLastChunk = "0\r\n\r\n";
// The head of a response whose body goes on until the connection ends, or that turns it into something else.
[[nodiscard]] std::string format_stream_head(int status, const HttpHeaders& headers);
inline constexpr std::string_view kHttpContinue = "HTTP/1.1 100 Continue\r\n\r\n";

// RFC 9457 problem details with the stable code.
[[nodiscard]] HttpResponse problem(const Error& error);
[[nodiscard]] HttpResponse problem(int status, const Error& error);
[[nodiscard]] HttpResponse problem(const HttpError& error);
// The error that a problem response tells of; kInternal for a body that is none.
[[nodiscard]] Error error_of_problem(const HttpResponse& response);

}  // namespace drover
