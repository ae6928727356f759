#include "net/http_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/check.h"
#include "base/log.h"

namespace drover {
namespace {

constexpr std::size_t kReadBytes = 64 * 1024;
// What TLS may have to say of its own before the client has read any of it.
constexpr std::size_t kTlsTalkBytesMax = 256 * 1024;
constexpr int kBadRequest = 400;
constexpr int kTooMany = 429;
constexpr MonoTime kNever{Millis::max()};
// All connections are looked at, so not at every turn of the loop. Their limits are seconds.
constexpr Millis kBetweenLooks{50};

std::string peer_of(const sockaddr_storage& address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  const void* place = nullptr;
  if (address.ss_family == AF_INET) {
    place = &reinterpret_cast<const sockaddr_in&>(address).sin_addr;
  } else if (address.ss_family == AF_INET6) {
    place = &reinterpret_cast<const sockaddr_in6&>(address).sin6_addr;
  } else {
    return "unix";
  }
  return ::inet_ntop(address.ss_family, place, text.data(), text.size()) != nullptr ? text.data() : "unknown";
}

}  // namespace

HttpConnection::HttpConnection(EventLoop& loop, UniqueFd socket, std::optional<TlsSession> tls, std::string peer,
                               const HttpLimits& limits, const Handle& handle)
    : loop_(loop),
      socket_(std::move(socket)),
      tls_(std::move(tls)),
      peer_(std::move(peer)),
      limits_(limits),
      handle_(handle) {}

HttpConnection::~HttpConnection() = default;

void HttpConnection::open() {
  since_ = system_clock().mono();
  wanted_ = EPOLLIN | EPOLLRDHUP;
  watch_ = loop_.watch(socket_.get(), wanted_, [this](std::uint32_t events) {
    const auto self = shared_from_this();  // closing drops it from the server's list
    ready(events);
  });
}

MonoTime HttpConnection::gives_up_at() const {
  switch (phase_) {
    case Phase::kReading:
      if (tls_ && !tls_->is_established()) return since_ + limits_.header_max;
      if (!reader_.is_within_request()) return since_ + limits_.idle_max;
      return since_ + (reader_.has_header() ? limits_.exchange_max : limits_.header_max);
    case Phase::kWriting:
      return since_ + limits_.exchange_max;
    case Phase::kStreaming:
      return unsent() > 0 ? since_ + limits_.exchange_max : kNever;
    case Phase::kAnswering:
    case Phase::kClosed:
      return kNever;
  }
  return kNever;
}

void HttpConnection::want(std::uint32_t events) {
  if (wanted_ == events || !watch_.is_set()) return;
  wanted_ = events;
  watch_.set_events(events);
}

void HttpConnection::ready(std::uint32_t events) {
  if ((events & (EPOLLHUP | EPOLLERR)) != 0) return close();
  switch (phase_) {
    case Phase::kReading:
      return ready_to_read(events);
    case Phase::kStreaming:
      if ((events & EPOLLOUT) != 0) write();
      if (!is_closed() && (events & (EPOLLIN | EPOLLRDHUP)) != 0) read();
      return;
    case Phase::kWriting:
      return write();
    case Phase::kAnswering:
      if ((events & EPOLLRDHUP) != 0) return close();  // nobody is there to answer
      return want(EPOLLRDHUP);                         // what it sends already waits its turn
    case Phase::kClosed:
      return;
  }
}

// Between requests there is something to write only while TLS or "100 Continue" wait for room.
void HttpConnection::ready_to_read(std::uint32_t events) {
  if ((events & EPOLLOUT) != 0) {
    const Flushed flushed = flush();
    if (flushed == Flushed::kBroken) return close();
    if (flushed == Flushed::kAll) want(EPOLLIN | EPOLLRDHUP);
  }
  if ((events & (EPOLLIN | EPOLLRDHUP)) != 0) read();
}

void HttpConnection::read() {
  std::array<char, kReadBytes> buffer;
  const ssize_t size = ::recv(socket_.get(), buffer.data(), buffer.size(), 0);
  if (size < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (size <= 0) return close();
  const std::string_view bytes(buffer.data(), static_cast<std::size_t>(size));
  if (tls_) {
    receive_tls(*tls_, bytes);
  } else {
    receive(bytes);
  }
}

void HttpConnection::receive_tls(TlsSession& tls, std::string_view bytes) {
  const bool was_established = tls.is_established();
  const auto plaintext = tls.feed(bytes);
  if (!plaintext && !was_established && bytes.front() >= 'A' && bytes.front() <= 'Z') return turn_out_plain_http();
  out_ += tls.take_outgoing();
  const Flushed flushed = flush();
  if (!plaintext || flushed == Flushed::kBroken) return close();
  if (flushed == Flushed::kSome) {
    if (phase_ == Phase::kReading && unsent() > kTlsTalkBytesMax) return close();
    want(EPOLLIN | EPOLLOUT | EPOLLRDHUP);
  }
  if (!plaintext->empty()) receive(*plaintext);
  if (!is_closed() && tls.is_ended_by_peer()) close();
}

// A user who forgot the "s" of https is told.
void HttpConnection::turn_out_plain_http() {
  tls_.reset();
  keep_alive_ = false;
  phase_ = Phase::kAnswering;
  respond(problem(kBadRequest, Error{ErrorCode::kInvalidArgument, "this port speaks TLS: use https://", {}}));
}

void HttpConnection::receive(std::string_view bytes) {
  if (phase_ == Phase::kStreaming) {
    if (stream_.received) stream_.received(bytes);
    return;
  }
  if (!reader_.is_within_request()) since_ = system_clock().mono();
  reader_.feed(bytes);
  if (reader_.wants_continue()) {
    put(kHttpContinue);
    if (flush() == Flushed::kBroken) return close();
  }
  take_next();
}

void HttpConnection::take_next() {
  auto next = reader_.next();
  if (!next) {
    keep_alive_ = false;
    phase_ = Phase::kAnswering;
    return respond(problem(next.error().status, Error{ErrorCode::kInvalidArgument, next.error().message, {}}));
  }
  std::optional<HttpRequest>& request = *next;
  if (!request) return want(EPOLLIN | EPOLLRDHUP | (unsent() > 0 ? EPOLLOUT : 0U));
  phase_ = Phase::kAnswering;
  keep_alive_ = request->keep_alive;
  request->peer = peer_;
  handle_(*std::move(request), shared_from_this());
}

void HttpConnection::respond(HttpResponse response) {
  if (phase_ != Phase::kAnswering) return;
  phase_ = Phase::kWriting;
  since_ = system_clock().mono();
  response.keep_alive = response.keep_alive && keep_alive_;
  then_close_ = !response.keep_alive;
  put(format_response(response));
  write();
}

void HttpConnection::start_stream(std::string head, StreamEvents events) {
  if (phase_ != Phase::kAnswering) return;
  phase_ = Phase::kStreaming;
  stream_ = std::move(events);
  want(EPOLLIN | EPOLLRDHUP);
  send(head);
}

void HttpConnection::send(std::string_view bytes) {
  if (phase_ != Phase::kStreaming || bytes.empty()) return;
  const bool was_empty = unsent() == 0;
  if (was_empty) since_ = system_clock().mono();
  put(bytes);
  if (was_empty) write();
}

void HttpConnection::close_when_sent() {
  then_close_ = true;
  if (unsent() == 0) close();
}

void HttpConnection::put(std::string_view bytes) {
  if (!tls_) {
    out_.append(bytes);
    return;
  }
  if (!tls_->send(bytes)) then_close_ = true;  // the client sees a cut
  out_ += tls_->take_outgoing();
}

HttpConnection::Flushed HttpConnection::flush() {
  while (sent_ < out_.size()) {
    const ssize_t size = ::send(socket_.get(), out_.data() + sent_, out_.size() - sent_, MSG_NOSIGNAL);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0 && errno == EAGAIN) return Flushed::kSome;
    if (size < 0) return Flushed::kBroken;
    sent_ += static_cast<std::size_t>(size);
    if (phase_ == Phase::kStreaming) since_ = system_clock().mono();
  }
  out_.clear();
  sent_ = 0;
  return Flushed::kAll;
}

void HttpConnection::write() {
  switch (flush()) {
    case Flushed::kAll:
      return written();
    case Flushed::kSome:
      return want(phase_ == Phase::kStreaming ? EPOLLIN | EPOLLOUT : EPOLLOUT);
    case Flushed::kBroken:
      return close();
  }
}

void HttpConnection::written() {
  if (then_close_) return close();
  if (phase_ == Phase::kStreaming) {
    want(EPOLLIN | EPOLLRDHUP);
    if (stream_.drained) stream_.drained();
    return;
  }
  phase_ = Phase::kReading;
  since_ = system_clock().mono();
  take_next();
}

void HttpConnection::close() {
  if (is_closed()) return;
  phase_ = Phase::kClosed;
  watch_.reset();
  if (tls_ && unsent() == 0) {  // a goodbye; should it not fit, the end of the stream has to do
    tls_->close();
    const std::string goodbye = tls_->take_outgoing();
    ::send(socket_.get(), goodbye.data(), goodbye.size(), MSG_NOSIGNAL);
  }
  socket_.reset();
  if (const auto closed = std::exchange(stream_, {}).closed) closed();
}

HttpServer::HttpServer(EventLoop& loop, HttpLimits limits, HttpConnection::Handle handle)
    : loop_(loop), limits_(limits), handle_(std::move(handle)) {}

HttpServer::~HttpServer() {
  for (const auto& connection : connections_) connection->close();
}

void HttpServer::listen_on(UniqueFd socket, Transport transport) {
  CHECK(transport == Transport::kPlain || certificate_);
  Listener& listener = listeners_.emplace_back();
  listener.socket = std::move(socket);
  listener.transport = transport;
  listener.watch =
      loop_.watch(listener.socket.get(), EPOLLIN, [this, &listener](std::uint32_t) { accept_all(listener); });
}

void HttpServer::stop_listening() {
  listeners_.clear();
  for (const auto& connection : connections_) {
    if (connection->is_idle()) connection->close();
  }
}

bool HttpServer::is_answering() const {
  return std::ranges::any_of(connections_, [](const auto& connection) { return connection->is_answering(); });
}

// Those beyond the limit wait in the listener's backlog until a place is free.
void HttpServer::accept_all(Listener& listener) {
  while (connections_.size() < limits_.connections_max) {
    sockaddr_storage address{};
    socklen_t size = sizeof address;
    UniqueFd socket(
        ::accept4(listener.socket.get(), reinterpret_cast<sockaddr*>(&address), &size, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!socket.is_open()) {
      if (errno == EINTR || errno == ECONNABORTED) continue;
      if (errno != EAGAIN) {
        log_warn("http", "cannot accept a connection", {{"error", std::strerror(errno)}});
        pause();
      }
      return;
    }
    if (address.ss_family != AF_UNIX) {
      const int on = 1;
      ::setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    }
    admit(std::move(socket), listener.transport, peer_of(address));
  }
  pause();
}

void HttpServer::admit(UniqueFd socket, Transport transport, std::string peer) {
  std::size_t& count = by_peer_[peer];
  if (limits_.connections_per_peer_max != 0 && count >= limits_.connections_per_peer_max) {
    if (transport == Transport::kTls) return;  // a word would cost a handshake
    HttpResponse refusal = problem(kTooMany, Error{ErrorCode::kLimitExceeded, "too many connections from here", {}});
    refusal.keep_alive = false;
    const std::string text = format_response(refusal);
    // Into an empty buffer; whoever is turned away without a word has too many others.
    ::send(socket.get(), text.data(), text.size(), MSG_NOSIGNAL);
    return;
  }
  ++count;
  std::optional<TlsSession> tls;
  if (transport == Transport::kTls) {
    CHECK(certificate_.has_value());
    tls.emplace(*certificate_);
  }
  connections_.push_back(
      std::make_shared<HttpConnection>(loop_, std::move(socket), std::move(tls), std::move(peer), limits_, handle_));
  connections_.back()->open();
}

// Until tick finds that there is room again.
void HttpServer::pause() {
  is_paused_ = true;
  for (Listener& listener : listeners_) listener.watch.set_events(0);
}

MonoTime HttpServer::tick(MonoTime now) {
  if (now < look_at_) return look_at_;
  MonoTime next = kNever;
  for (auto it = connections_.begin(); it != connections_.end();) {
    HttpConnection& connection = **it;
    if (!connection.is_closed() && now >= connection.gives_up_at()) connection.close();
    if (connection.is_closed()) {
      const auto peer = by_peer_.find(connection.peer());
      if (peer != by_peer_.end() && --peer->second == 0) by_peer_.erase(peer);
      it = connections_.erase(it);
      continue;
    }
    next = std::min(next, connection.gives_up_at());
    ++it;
  }
  if (is_paused_ && connections_.size() < limits_.connections_max) {
    is_paused_ = false;
    for (Listener& listener : listeners_) listener.watch.set_events(EPOLLIN);
  }
  look_at_ = now + kBetweenLooks;
  return std::max(next, look_at_);
}

}  // namespace drover
