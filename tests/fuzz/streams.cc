// What comes in pieces: HTTP, WebSocket, RESP. However a stream is cut, what is read from it is the same.
#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"
#include "fuzz/targets.h"
#include "net/http.h"
#include "net/http_chunks.h"
#include "net/url.h"
#include "net/websocket.h"
#include "net/websocket_inbox.h"
#include "server/access.h"
#include "server/router.h"
#include "store/redis/reply_reader.h"

namespace drover::fuzz {
namespace {

constexpr std::string_view kError = "error";

// Of a stream that ends amid a header that is wrong: one cut may show it before the other.
bool is_told_sooner(std::string_view told, std::string_view not_yet) {
  return told.starts_with(not_yet) && told.substr(not_yet.size()).starts_with(kError);
}

// The first byte says how large the pieces are; the rest is the stream.
template <class Read>
void feed_cut(std::string_view input, Read read) {
  if (input.empty()) return;
  const std::size_t piece = 1 + static_cast<unsigned char>(input.front()) % 64;
  input.remove_prefix(1);
  const std::string whole = read(input, std::max<std::size_t>(input.size(), 1));
  const std::string cut = read(input, piece);
  CHECK_MSG(cut == whole || is_told_sooner(cut, whole) || is_told_sooner(whole, cut),
            "another cut of the stream was read otherwise");
}

template <class Reader, class Take>
std::string read_in_pieces(Reader& reader, std::string_view bytes, std::size_t piece, Take take) {
  std::string story;
  while (!bytes.empty()) {
    reader.feed(bytes.substr(0, piece));
    bytes.remove_prefix(std::min(piece, bytes.size()));
    while (take(story)) {
    }
  }
  return story;
}

// What a server does with a request before it asks anybody.
void look_at(const HttpRequest& request) {
  CHECK(request.body.size() <= kHttpBodyBytesMax);
  static_cast<void>(server::refuse_stranger({.hosts = {"localhost"}}, request));
  static_cast<void>(server::bearer_token(request));
  if (const auto target = parse_target(request.target)) static_cast<void>(server::find_route(request, *target));
}

std::string read_requests(std::string_view bytes, std::size_t piece) {
  HttpRequestReader reader;
  bool broken = false;
  return read_in_pieces(reader, bytes, piece, [&](std::string& story) {
    if (broken) return false;
    static_cast<void>(reader.wants_continue());
    auto next = reader.next();
    if (!next) {
      broken = true;
      story += fmt::format("{} {}", kError, next.error().status);
      CHECK(next.error().status >= 400 && next.error().status < 500);
      return false;
    }
    const std::optional<HttpRequest>& request = *next;
    if (!request) return false;
    look_at(*request);
    story += fmt::format("{} {} {} {}\n", request->method, request->target, request->keep_alive, request->body);
    for (const auto& [name, value] : request->headers) story += fmt::format("{}: {}\n", name, value);
    return true;
  });
}

// A body in chunks, and what is held of it: never more than the body may have, whatever its framing is like.
std::string read_chunks(std::string_view bytes, std::size_t piece) {
  constexpr std::size_t kBodyMax = 256;
  ChunkReader chunks(kBodyMax);
  HttpRequestReader requests(kBodyMax);
  requests.feed("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n");
  const std::size_t head = requests.held();
  std::string story;
  while (!bytes.empty() && !chunks.is_done() && story.empty()) {
    const std::string_view next = bytes.substr(0, piece);
    requests.feed(next);
    const auto taken = chunks.feed(next);
    CHECK(chunks.held() <= kBodyMax);
    CHECK_MSG(requests.held() <= head + kBodyMax + next.size(), "framing is held");
    if (!taken) story = fmt::format("{} {}", kError, taken.error().status);
    CHECK(!taken || *taken == next.size() || chunks.is_done());
    bytes.remove_prefix(next.size());
  }
  const auto request = requests.next();
  CHECK_MSG(request.has_value() == story.empty(), "the same parser judges otherwise");
  if (!chunks.is_done()) return story;
  story = chunks.take();
  CHECK(request->has_value() && (*request)->body == story);
  return story;
}

// A client that sends whatever it likes and reads nothing: of its control frames one at most waits for an answer.
std::string read_control(std::string_view bytes, std::size_t piece) {
  constexpr std::size_t kMessageMax = 256;
  constexpr std::size_t kFrameHeadMax = 14;
  constexpr std::size_t kPongMax = 125;
  WebSocketInbox inbox(kMessageMax);
  std::string story;
  while (!bytes.empty()) {
    inbox.feed(bytes.substr(0, piece));
    bytes.remove_prefix(std::min(piece, bytes.size()));
    for (;;) {
      const auto next = inbox.next();
      CHECK(next || inbox.held() <= kPongMax + kMessageMax);
      if (!next) return story + std::string(next.error().reason);
      const std::optional<WebSocketMessage>& message = *next;
      if (!message) break;
      CHECK(message->kind != WebSocketKind::kPing && message->kind != WebSocketKind::kPong);
      story += fmt::format("{} {}:{};", static_cast<int>(message->kind), message->close_code, message->payload);
    }
    CHECK_MSG(inbox.held() <= 2 * kMessageMax + kFrameHeadMax + kPongMax, "what was read is held");
  }
  const auto pong = inbox.take_pong();
  CHECK(!pong || pong->size() <= kPongMax + 2);
  CHECK(!inbox.take_pong());
  return story + pong.value_or("");
}

std::string read_messages(WebSocketPeer sender, std::string_view bytes, std::size_t piece) {
  WebSocketReader reader(sender);
  return read_in_pieces(reader, bytes, piece, [&, broken = false](std::string& story) mutable {
    if (broken) return false;
    const auto next = reader.next();
    if (!next) {
      broken = true;
      story += next.error().reason;
      return false;
    }
    const std::optional<WebSocketMessage>& message = *next;
    if (!message) return false;
    CHECK(message->payload.size() <= kWebSocketBytesMax);
    story += fmt::format("{} {}:{};", static_cast<int>(message->kind), message->close_code, message->payload);
    return true;
  });
}

void describe(const redis::Reply& reply, std::string& story) {
  story += fmt::format("{}", static_cast<int>(reply.kind()));
  if (const auto elements = reply.as_array()) {
    story += '[';
    for (const redis::Reply& element : *elements) describe(element, story);
    story += ']';
  } else if (const auto text = reply.as_text()) {
    story += *text;
  } else if (const auto number = reply.as_integer()) {
    story += std::to_string(*number);
  } else {
    story += reply.is_error() ? reply.error_text() : "nil";
  }
  story += ',';
}

std::string read_replies(std::string_view bytes, std::size_t piece) {
  constexpr std::size_t kBytesMax = 1 << 20;
  redis::ReplyReader reader(kBytesMax);
  std::string story;
  while (!bytes.empty()) {
    if (!reader.feed(bytes.substr(0, piece))) return story + "too large";
    bytes.remove_prefix(std::min(piece, bytes.size()));
    for (;;) {
      const auto next = reader.next();
      if (!next) return story + "error";
      const std::optional<redis::Reply>& reply = *next;
      if (!reply) break;
      describe(*reply, story);
    }
  }
  return story;
}

}  // namespace

void feed_http(std::string_view input) {
  feed_cut(input, read_requests);
}

void feed_http_response(std::string_view input) {
  feed_cut(input, [](std::string_view bytes, std::size_t piece) -> std::string {
    HttpResponseReader reader;
    while (!bytes.empty() && !reader.is_whole()) {
      if (!reader.feed(bytes.substr(0, piece))) return "error";
      bytes.remove_prefix(std::min(piece, bytes.size()));
    }
    if (!reader.is_whole() && !reader.end_of_stream()) return "error";
    if (!reader.is_whole()) return "unfinished";
    const HttpResponse response = reader.take();
    return fmt::format("{} {} {} {}", response.status, response.content_type, response.body,
                       to_string(error_of_problem(response)));
  });
}

void feed_websocket(std::string_view input) {
  for (const WebSocketPeer sender : {WebSocketPeer::kClient, WebSocketPeer::kServer}) {
    feed_cut(input, [&](std::string_view bytes, std::size_t piece) { return read_messages(sender, bytes, piece); });
  }
  static_cast<void>(websocket_accept(input));
}

void feed_chunked(std::string_view input) {
  feed_cut(input, read_chunks);
}

void feed_websocket_control(std::string_view input) {
  feed_cut(input, read_control);
}

void feed_resp(std::string_view input) {
  feed_cut(input, read_replies);
}

}  // namespace drover::fuzz
