// Requests, strictly: whatever another program on the way could read otherwise is refused.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <utility>

#include "base/check.h"
#include "base/try.h"
#include "net/http.h"
#include "net/http_chunks.h"
#include "net/http_syntax.h"

namespace drover {
namespace {

constexpr int kBadRequest = 400;
constexpr int kTooLarge = 413;
constexpr int kUnsupportedMedia = 415;
constexpr int kHeaderTooLarge = 431;
constexpr std::string_view kLineEnd = "\r\n";

std::unexpected<HttpError> refuse(std::string message, int status = kBadRequest) {
  return std::unexpected(HttpError{.status = status, .message = std::move(message)});
}

bool equals_ignoring_case(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); });
}

auto times(const HttpHeaders& headers, std::string_view name) {
  return std::ranges::count(headers, name, &HttpHeaders::value_type::first);
}

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

std::string_view take_line(std::string_view& head) {
  const std::size_t end = head.find(kLineEnd);
  const std::string_view line = head.substr(0, end);
  head.remove_prefix(end + kLineEnd.size());
  return line;
}

std::expected<void, HttpError> read_request_line(std::string_view line, HttpRequest& request) {
  const std::size_t first = line.find(' ');
  const std::size_t last = line.rfind(' ');
  if (first == std::string_view::npos || first == last) return refuse("a request begins with METHOD TARGET HTTP/1.1");
  const std::string_view method = line.substr(0, first);
  const std::string_view target = line.substr(first + 1, last - first - 1);
  const std::string_view version = line.substr(last + 1);
  if (!is_token(method)) return refuse("the method is not a word");
  if (target.empty() || target.find_first_of(" \t") != std::string_view::npos) return refuse("the target has spaces");
  if (version != "HTTP/1.1" && version != "HTTP/1.0") return refuse("this server speaks HTTP/1.1");
  request.method = method;
  request.target = target;
  request.takes_chunks = version == "HTTP/1.1";
  return {};
}

// A field that goes on in the next line has a space where a name should be.
std::expected<void, HttpError> read_fields(std::string_view lines, HttpHeaders& headers) {
  while (!lines.starts_with(kLineEnd)) {
    const std::string_view line = take_line(lines);
    const std::size_t colon = line.find(':');
    const std::string_view name = line.substr(0, colon);
    if (colon == std::string_view::npos || !is_token(name)) return refuse("a header line is not NAME: VALUE");
    if (headers.size() == kHttpFieldsMax) {
      return refuse(fmt::format("the header has more than {} fields", kHttpFieldsMax), kHeaderTooLarge);
    }
    auto& [lower, value] = headers.emplace_back(name, trimmed(line.substr(colon + 1)));
    std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  }
  return {};
}

std::expected<void, HttpError> check_fields(const HttpHeaders& headers) {
  constexpr std::array<std::string_view, 5> kOnce{"transfer-encoding", "content-length", "content-type", "host",
                                                  "authorization"};
  for (const std::string_view name : kOnce) {
    if (times(headers, name) > 1) return refuse(fmt::format("the header has {} more than once", name));
  }
  if (times(headers, "content-encoding") > 0) {
    return refuse("Content-Encoding: bodies are taken as they are; send it uncompressed", kUnsupportedMedia);
  }
  return {};
}

bool stays_open(const HttpRequest& request) {
  bool keeps = request.takes_chunks;  // HTTP/1.0 closes unless told otherwise
  for (const auto& [name, value] : request.headers) {
    if (name != "connection") continue;
    for (std::string_view rest = value; !rest.empty();) {
      const std::size_t comma = std::min(rest.find(','), rest.size());
      const std::string_view word = trimmed(rest.substr(0, comma));
      if (equals_ignoring_case(word, "close")) return false;
      if (equals_ignoring_case(word, "keep-alive")) keeps = true;
      rest.remove_prefix(std::min(comma + 1, rest.size()));
    }
  }
  return keeps;
}

std::expected<HttpRequest, HttpError> parse_head(std::string_view head) {
  HttpRequest request;
  TRY(read_request_line(take_line(head), request));
  TRY(read_fields(head, request.headers));
  TRY(check_fields(request.headers));
  request.keep_alive = stays_open(request);
  return request;
}

// How many bytes the body has; nothing if it comes in chunks.
std::expected<std::optional<std::size_t>, HttpError> body_length(const HttpRequest& request, std::size_t bytes_max) {
  const bool has_length = times(request.headers, "content-length") > 0;
  if (times(request.headers, "transfer-encoding") > 0) {
    if (has_length) return refuse("Content-Length and Transfer-Encoding exclude each other");
    if (!request.takes_chunks) return refuse("Transfer-Encoding needs HTTP/1.1");
    if (!equals_ignoring_case(request.header("transfer-encoding"), "chunked")) {
      return refuse("Transfer-Encoding: only chunked is known, once");
    }
    return std::nullopt;
  }
  if (!has_length) return 0;
  const std::string_view text = request.header("content-length");
  if (text.empty() || text.find_first_not_of("0123456789") != std::string_view::npos) {
    return refuse("Content-Length is not a number");
  }
  std::size_t length = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), length);
  if (parsed.ec != std::errc{} || length > bytes_max) {
    return refuse(fmt::format("the body has more than {} bytes", bytes_max), kTooLarge);
  }
  return length;
}

}  // namespace

struct HttpRequestReader::Impl {
  std::size_t body_bytes_max;
  std::string waiting = {};                 // of a head, or what comes after the request
  std::size_t scanned = 0;                  // of waiting: has no end of a head
  std::optional<HttpRequest> request = {};  // once its head is whole
  std::size_t head_bytes = 0;               // of the request
  std::size_t length = 0;                   // of its body
  std::optional<ChunkReader> chunks = {};   // its body, if it comes in chunks
  bool is_whole = false;
  bool said_continue = false;
  bool is_cleared = false;
  std::optional<HttpError> error = {};

  void fail(HttpError why) {
    error = std::move(why);
    waiting = {};
  }
  void fail(std::string message, int status = kBadRequest) { fail({.status = status, .message = std::move(message)}); }

  void parse() {
    if (error || is_whole) return;
    if (!request) {
      if (const std::optional<std::size_t> end = find_end_of_head()) begin_request(*end);
    }
    if (request && !error) read_body(*request);
  }

  // Every byte is looked at once, and what is wrong is told at once.
  std::optional<std::size_t> find_end_of_head() {
    for (; scanned < waiting.size(); ++scanned) {
      if (scanned == kHttpHeaderBytesMax) {
        fail(fmt::format("the header has more than {} bytes", kHttpHeaderBytesMax), kHeaderTooLarge);
        return std::nullopt;
      }
      const char byte = waiting[scanned];
      const bool after_cr = scanned > 0 && waiting[scanned - 1] == '\r';
      if (after_cr != (byte == '\n')) {
        fail("a line of the header must end in CR LF");
        return std::nullopt;
      }
      if (byte != '\r' && byte != '\n' && !is_text(byte)) {
        fail("a control character in the header");
        return std::nullopt;
      }
      if (byte == '\n' && (scanned == 1 || (scanned >= 3 && waiting[scanned - 2] == '\n'))) return ++scanned;
    }
    return std::nullopt;
  }

  void begin_request(std::size_t head_end) {
    auto parsed = parse_head(std::string_view(waiting).substr(0, head_end));
    if (!parsed) return fail(std::move(parsed.error()));
    const auto expected = body_length(*parsed, body_bytes_max);
    if (!expected) return fail(expected.error());
    if (const std::optional<std::size_t>& bytes = *expected) {
      length = *bytes;
    } else {
      chunks.emplace(body_bytes_max);
    }
    request = *std::move(parsed);
    head_bytes = head_end;
    waiting.erase(0, head_end);
  }

  void read_body(HttpRequest& begun) {
    if (chunks) {
      const auto taken = chunks->feed(waiting);
      if (!taken) return fail(taken.error());
      waiting.erase(0, *taken);
      is_whole = chunks->is_done();
      if (is_whole) begun.body = chunks->take();
      return;
    }
    std::string& body = begun.body;
    const std::size_t size = std::min(waiting.size(), length - body.size());
    if (body.empty() && size == waiting.size()) {
      body = std::exchange(waiting, {});
    } else {
      body.append(waiting, 0, size);
      waiting.erase(0, size);
    }
    is_whole = body.size() == length;
  }

  HttpRequest take() {
    CHECK(request.has_value());
    HttpRequest taken = *std::move(request);
    request.reset();
    scanned = head_bytes = length = 0;
    chunks.reset();
    is_whole = said_continue = false;
    if (waiting.empty()) waiting = {};  // most connections are idle most of the time
    return taken;
  }
};

HttpRequestReader::HttpRequestReader(std::size_t body_bytes_max)
    : impl_(std::make_unique<Impl>(Impl{.body_bytes_max = body_bytes_max})) {}
HttpRequestReader::~HttpRequestReader() = default;
HttpRequestReader::HttpRequestReader(HttpRequestReader&&) noexcept = default;
HttpRequestReader& HttpRequestReader::operator=(HttpRequestReader&&) noexcept = default;

void HttpRequestReader::feed(std::string_view bytes) {
  if (impl_->error || impl_->is_cleared) return;
  impl_->waiting.append(bytes);
  impl_->parse();
}

std::expected<std::optional<HttpRequest>, HttpError> HttpRequestReader::next() {
  if (const std::optional<HttpError>& error = impl_->error) return std::unexpected(*error);
  if (!impl_->is_whole) return std::nullopt;
  HttpRequest request = impl_->take();
  impl_->parse();
  return request;
}

bool HttpRequestReader::wants_continue() {
  const std::optional<HttpRequest>& request = impl_->request;
  if (impl_->said_continue || !request || impl_->is_whole || !request->takes_chunks) return false;
  impl_->said_continue = equals_ignoring_case(request->header("expect"), "100-continue");
  return impl_->said_continue;
}

bool HttpRequestReader::is_within_request() const {
  return !impl_->is_whole && (impl_->request.has_value() || !impl_->waiting.empty());
}

bool HttpRequestReader::has_header() const {
  return impl_->request.has_value();
}

void HttpRequestReader::clear() noexcept {
  *impl_ = Impl{.body_bytes_max = 0, .is_cleared = true};
}

std::size_t HttpRequestReader::held() const {
  const Impl& it = *impl_;
  return it.waiting.size() + it.head_bytes + (it.request ? it.request->body.size() : 0) +
         (it.chunks ? it.chunks->held() : 0);
}

}  // namespace drover
