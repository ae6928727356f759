#include "net/http_connection.h"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <new>
#include <utility>

#include "base/log.h"

namespace drover {
namespace {

constexpr std::size_t kReadBytes = 64 * 1024;
// What TLS may have to say of its own before the client has read any of it.
constexpr std::size_t kTlsTalkBytesMax = 256 * 1024;
// What OpenSSL holds for a session, more or less.
constexpr std::size_t kTlsSessionBytes = 32 * 1024;
// A stream whose peer has so much to read is not read from.
constexpr std::size_t kStreamUnsentMax = 64 * 1024;
// The next piece of an answer is asked for when no more than this waits.
constexpr std::size_t kPieceUnsentMax = 64 * 1024;
// An idle connection keeps no larger buffer.
constexpr std::size_t kBufferKeptBytes = 4 * 1024;
constexpr int kBadRequest = 400;
constexpr int kUnavailable = 503;
constexpr MonoTime kNever{Millis::max()};
constexpr Millis kLeaveMax{2'000};
constexpr Millis kBetweenComplaints{10'000};

HttpResponse no_room() {
  HttpResponse response = problem(
      kUnavailable, Error{ErrorCode::kStoreUnavailable, "the server has too much in hand; try again in a moment", {}});
  response.headers.emplace_back("retry-after", "1");
  return response;
}

// On the loop's thread; the loops of a process may share it.
void complain(std::string_view what, const std::string& peer) {
  static std::atomic<MonoTime> next{};
  const MonoTime now = system_clock().mono();
  if (now < next.load()) return;
  next = now + kBetweenComplaints;
  try {
    log_warn("http", what, {{"peer", peer}});
  } catch (const std::bad_alloc&) {  // not even for a word; the next one may find some
  }
}

}  // namespace

HttpConnection::HttpConnection(const Common& common, UniqueFd socket, std::optional<TlsSession> tls, std::string peer)
    : common_(common),
      socket_(std::move(socket)),
      tls_(std::move(tls)),
      peer_(std::move(peer)),
      reader_(common.limits.body_bytes_max),
      held_(common.budget, [this] { let_go(); }) {}

HttpConnection::~HttpConnection() = default;

void HttpConnection::open() {
  since_ = system_clock().mono();
  watched_ = wanted();
  watch_ = common_.loop.watch(socket_.get(), watched_, [this](std::uint32_t events) {
    const auto self = shared_from_this();  // closing drops it from the server's list
    guarded([&] { ready(events); });
    common_.budget.relieve();
  });
  count();
}

template <class Work>
void HttpConnection::guarded(Work work) {
  try {
    work();
  } catch (const std::bad_alloc&) {
    close();
    complain("a connection is closed: there is no memory for it", peer_);
  }
  count();
}

void HttpConnection::count() {
  if (is_closed() || phase_ == Phase::kLeaving) return held_.set(0);
  held_.set(reader_.held() + request_bytes_ + (out_.empty() ? 0 : out_.capacity()) + stream_holds_ +
            (tls_ ? kTlsSessionBytes : 0));
}

// Others need the room. A request that is coming in is refused with a word.
void HttpConnection::let_go() {
  const auto self = shared_from_this();
  complain("too much is held for clients: the one with the most has to go", peer_);
  if (phase_ == Phase::kReading && unsent() == 0 && (!tls_ || tls_->is_established())) refuse(no_room());
  if (phase_ != Phase::kLeaving) close();
}

void HttpConnection::set_known() {
  is_known_ = true;
  held_.set_known();
}

MonoTime HttpConnection::gives_up_at() const {
  const HttpLimits& limits = common_.limits;
  switch (phase_) {
    case Phase::kReading:
      if (!has_asked_ && !reader_.has_header()) return since_ + limits.header_max;
      if (!reader_.is_within_request()) return since_ + limits.idle_max;
      return since_ + (reader_.has_header() ? limits.exchange_max : limits.header_max);
    case Phase::kWriting:
    case Phase::kStreaming:
      return unsent() > 0 ? since_ + limits.exchange_max : kNever;
    case Phase::kLeaving:
      return since_ + kLeaveMax;
    case Phase::kAnswering:
    case Phase::kClosed:
      return kNever;
  }
  return kNever;
}

std::uint32_t HttpConnection::wanted() const {
  const std::uint32_t out = unsent() > 0 ? EPOLLOUT : 0U;
  switch (phase_) {
    case Phase::kReading:
      return EPOLLIN | EPOLLRDHUP | out;
    case Phase::kAnswering:
      return EPOLLRDHUP;
    case Phase::kWriting:
      return out != 0 ? out : EPOLLRDHUP;  // without: it waits for the next piece
    case Phase::kStreaming:
      return out | (then_close_ || unsent() > kStreamUnsentMax ? 0U : EPOLLIN | EPOLLRDHUP);
    case Phase::kLeaving:
      return EPOLLIN | EPOLLRDHUP;
    case Phase::kClosed:
      return 0;
  }
  return 0;
}

void HttpConnection::want(std::uint32_t events) {
  if (watched_ == events || !watch_.is_set()) return;
  watched_ = events;
  watch_.set_events(events);
}

void HttpConnection::ready(std::uint32_t events) {
  if ((events & (EPOLLHUP | EPOLLERR)) != 0) return close();
  switch (phase_) {
    case Phase::kReading:
      return ready_to_read(events);
    case Phase::kStreaming:
      if ((events & EPOLLOUT) != 0) write();
      if (phase_ == Phase::kStreaming && (events & wanted() & (EPOLLIN | EPOLLRDHUP)) != 0) read();
      return;
    case Phase::kLeaving:
      return read();
    case Phase::kWriting:
      if ((events & EPOLLOUT) != 0) return write();
      [[fallthrough]];
    case Phase::kAnswering:
      if ((events & EPOLLRDHUP) != 0) return close();  // nobody is there to answer
      return want(wanted());                           // what it sends already waits its turn
    case Phase::kClosed:
      return;
  }
}

// Between requests there is something to write only while TLS or "100 Continue" wait for room.
void HttpConnection::ready_to_read(std::uint32_t events) {
  if ((events & EPOLLOUT) != 0) {
    if (flush() == Flushed::kBroken) return close();
    want(wanted());
  }
  if ((events & (EPOLLIN | EPOLLRDHUP)) != 0) read();
}

void HttpConnection::read() {
  std::array<char, kReadBytes> buffer;
  const ssize_t size = ::recv(socket_.get(), buffer.data(), buffer.size(), 0);
  if (size < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (size <= 0) return close();
  if (phase_ == Phase::kLeaving) return;
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
  if (!plaintext && !was_established && bytes.front() >= 'A' && bytes.front() <= 'Z') {
    tls_.reset();  // a user who forgot the "s" of https is told
    return refuse(problem(kBadRequest, Error{ErrorCode::kInvalidArgument, "this port speaks TLS: use https://", {}}));
  }
  out_ += tls.take_outgoing();
  const Flushed flushed = flush();
  if (!plaintext || flushed == Flushed::kBroken) return close();
  if (phase_ == Phase::kReading && unsent() > kTlsTalkBytesMax) return close();
  if (flushed == Flushed::kSome) want(wanted());
  if (!plaintext->empty()) receive(*plaintext);
  if (!is_closed() && tls.is_ended_by_peer()) close();
}

void HttpConnection::receive(std::string_view bytes) {
  if (phase_ == Phase::kStreaming) {
    if (stream_.received) stream_holds_ = stream_.received(bytes);
    return;
  }
  // The first header has its time from when the client came, also for its first byte.
  if (has_asked_ && !reader_.is_within_request()) since_ = system_clock().mono();
  reader_.feed(bytes);
  if (reader_.wants_continue()) {
    put(kHttpContinue);
    if (flush() == Flushed::kBroken) return close();
  }
  take_next();
}

// Without having taken the whole request. What is left of it is dropped: an unread rest would take the answer with it.
void HttpConnection::refuse(HttpResponse response) {
  response.keep_alive = false;
  leaves_input_ = true;
  phase_ = Phase::kAnswering;
  respond(std::move(response));
}

void HttpConnection::take_next() {
  auto next = reader_.next();
  if (!next) return refuse(problem(next.error()));
  std::optional<HttpRequest>& request = *next;
  if (!request) return want(wanted());
  phase_ = Phase::kAnswering;
  has_asked_ = true;
  keep_alive_ = request->keep_alive;
  takes_chunks_ = request->takes_chunks;
  request->peer = peer_;
  request_bytes_ = request->body.size() + request->target.size();
  for (const auto& [name, value] : request->headers) request_bytes_ += name.size() + value.size();
  common_.handle(*std::move(request), shared_from_this());
}

void HttpConnection::begin_answer(HttpResponse& response) {
  phase_ = Phase::kWriting;
  since_ = system_clock().mono();
  request_bytes_ = 0;
  response.keep_alive = response.keep_alive && keep_alive_;
  then_close_ = !response.keep_alive;
}

void HttpConnection::respond(HttpResponse response) {
  if (phase_ != Phase::kAnswering) return;
  guarded([&] {
    begin_answer(response);
    put(format_response_head(response, HttpFraming::kLength));
    put(response.body);
    response = {};
    write();
  });
}

void HttpConnection::respond_in_pieces(HttpResponse response, std::function<void()> more) {
  if (phase_ != Phase::kAnswering) return;
  guarded([&] {
    keep_alive_ = keep_alive_ && takes_chunks_;
    begin_answer(response);
    more_ = std::move(more);
    put(format_response_head(response, takes_chunks_ ? HttpFraming::kChunks : HttpFraming::kUntilClose));
    put_piece(response.body);
    response = {};
    write();
  });
}

void HttpConnection::add_piece(std::string_view bytes) {
  if (phase_ != Phase::kWriting || !more_) return;
  guarded([&] {
    wants_more_ = false;
    since_ = system_clock().mono();
    put_piece(bytes);
    write();
  });
}

void HttpConnection::end_pieces() {
  if (phase_ != Phase::kWriting || !more_) return;
  guarded([&] {
    more_ = {};
    wants_more_ = false;
    if (takes_chunks_) put(kHttpLastChunk);
    write();
  });
}

void HttpConnection::start_stream(std::string head, StreamEvents events) {
  if (phase_ != Phase::kAnswering) return;
  phase_ = Phase::kStreaming;
  request_bytes_ = 0;
  stream_ = std::move(events);
  want(wanted());
  send(head);
}

void HttpConnection::send(std::string_view bytes) {
  if (phase_ != Phase::kStreaming || bytes.empty()) return;
  guarded([&] {
    const bool was_empty = unsent() == 0;
    if (was_empty) since_ = system_clock().mono();
    put(bytes);
    if (was_empty) write();
  });
}

void HttpConnection::close_when_sent() {
  then_close_ = true;
  if (unsent() == 0) return close();
  want(wanted());
}

void HttpConnection::put(std::string_view bytes) {
  // What has left makes room, and what is large gets no more than it needs: a string would take twice as much.
  if (sent_ > 0) out_.erase(0, std::exchange(sent_, 0));
  if (bytes.size() > kReadBytes) out_.reserve(out_.size() + bytes.size());
  if (!tls_) {
    out_.append(bytes);
    return;
  }
  // In parts: the buffers between would hold all of it once more.
  for (; !bytes.empty(); bytes.remove_prefix(std::min(bytes.size(), kReadBytes))) {
    if (!tls_->send(bytes.substr(0, kReadBytes))) {
      then_close_ = true;  // the client sees a cut
      return;
    }
    out_ += tls_->take_outgoing();
  }
}

void HttpConnection::put_piece(std::string_view bytes) {
  if (!takes_chunks_ || bytes.empty()) return put(bytes);
  put(format_chunk_head(bytes.size()));
  put(bytes);
  put("\r\n");
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
  if (out_.capacity() > kBufferKeptBytes) out_ = {};
  sent_ = 0;
  return Flushed::kAll;
}

void HttpConnection::write() {
  const Flushed flushed = flush();
  if (flushed == Flushed::kBroken) return close();
  if (more_ && !wants_more_ && unsent() <= kPieceUnsentMax) {
    wants_more_ = true;
    want(wanted());
    const auto more = more_;  // closing forgets it
    return more();
  }
  if (flushed == Flushed::kSome || more_) return want(wanted());
  written();
}

void HttpConnection::written() {
  if (then_close_) return leaves_input_ ? leave() : close();
  if (phase_ == Phase::kStreaming) {
    want(wanted());
    if (stream_.drained) stream_.drained();
    return;
  }
  phase_ = Phase::kReading;
  since_ = system_clock().mono();
  take_next();
}

void HttpConnection::leave() {
  say_goodbye();
  if (::shutdown(socket_.get(), SHUT_WR) != 0) return close();
  phase_ = Phase::kLeaving;
  since_ = system_clock().mono();
  reader_.clear();
  want(wanted());
}

// Should it not fit, the end of the stream has to do.
void HttpConnection::say_goodbye() {
  if (!tls_) return;
  if (unsent() == 0) {
    tls_->close();
    const std::string goodbye = tls_->take_outgoing();
    ::send(socket_.get(), goodbye.data(), goodbye.size(), MSG_NOSIGNAL);
  }
  tls_.reset();
}

void HttpConnection::close() {
  if (is_closed()) return;
  phase_ = Phase::kClosed;
  watch_.reset();
  say_goodbye();
  socket_.reset();
  reader_.clear();
  out_ = {};
  sent_ = 0;
  more_ = {};
  held_.set(0);
  if (const auto closed = std::exchange(stream_, {}).closed) closed();
}

}  // namespace drover
