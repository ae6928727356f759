// HTTP over listening sockets, on one event loop. Everything here happens on the loop's thread.
#pragma once

#include <cstddef>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/clock.h"
#include "net/event_loop.h"
#include "net/http.h"
#include "net/tls_session.h"

namespace drover {

struct HttpLimits {
  std::size_t connections_max = 16;
  std::size_t connections_per_peer_max = 0;  // 0: as many as there may be in all
  Millis header_max{10'000};                 // for a TLS handshake, and for a request's header, to come in
  Millis exchange_max{30'000};               // for a whole request to come in, or a response to go out
  Millis idle_max{120'000};                  // between two requests
};

// One client. It reads a request, hands it over, writes the answer, and so on; while a request is being answered it
// takes nothing more. Closes by itself when the client goes or takes too long; answers to a closed one are dropped.
class HttpConnection : public std::enable_shared_from_this<HttpConnection> {
 public:
  using Handle = std::function<void(HttpRequest, const std::shared_ptr<HttpConnection>&)>;
  // What a connection that has become a stream gets to hear.
  struct StreamEvents {
    std::function<void(std::string_view bytes)> received;
    std::function<void()> drained;  // everything that was sent has left
    std::function<void()> closed;   // once, whoever closed it
  };

  // With `tls` the client has to speak TLS.
  HttpConnection(EventLoop& loop, UniqueFd socket, std::optional<TlsSession> tls, std::string peer,
                 const HttpLimits& limits, const Handle& handle);
  ~HttpConnection();

  void open();
  // Answers the request that was handed over, once.
  void respond(HttpResponse response);
  // Answers it with a head after which bytes flow both ways, until either side closes.
  void start_stream(std::string head, StreamEvents events);
  // Of a stream: queues bytes; unsent() says how many wait, as they go over the wire. The sender has to look at it.
  void send(std::string_view bytes);
  [[nodiscard]] std::size_t unsent() const { return out_.size() - sent_; }
  void close_when_sent();
  void close();

  [[nodiscard]] bool is_closed() const { return phase_ == Phase::kClosed; }
  [[nodiscard]] const std::string& peer() const { return peer_; }
  [[nodiscard]] MonoTime gives_up_at() const;
  // Between a request and the last byte of its answer.
  [[nodiscard]] bool is_answering() const { return phase_ == Phase::kAnswering || phase_ == Phase::kWriting; }
  // Between two requests.
  [[nodiscard]] bool is_idle() const { return phase_ == Phase::kReading && !reader_.is_within_request(); }

 private:
  enum class Phase : std::uint8_t { kReading, kAnswering, kWriting, kStreaming, kClosed };

  enum class Flushed : std::uint8_t { kAll, kSome, kBroken };

  void ready(std::uint32_t events);
  void ready_to_read(std::uint32_t events);
  void read();
  // What the client says, without TLS.
  void receive(std::string_view bytes);
  void receive_tls(TlsSession& tls, std::string_view bytes);
  void turn_out_plain_http();
  void take_next();
  // Appends to out_ what stands for these bytes on the wire.
  void put(std::string_view bytes);
  [[nodiscard]] Flushed flush();
  void write();
  void written();
  void want(std::uint32_t events);

  EventLoop& loop_;
  UniqueFd socket_;
  std::optional<TlsSession> tls_;
  std::string peer_;
  const HttpLimits& limits_;
  const Handle& handle_;
  HttpRequestReader reader_;
  std::string out_;       // as it goes over the wire
  std::size_t sent_ = 0;  // of out_
  Phase phase_ = Phase::kReading;
  MonoTime since_{};
  bool keep_alive_ = true;
  bool then_close_ = false;
  std::uint32_t wanted_ = 0;
  StreamEvents stream_;
  EventLoop::Watch watch_;
};

class HttpServer {
 public:
  HttpServer(EventLoop& loop, HttpLimits limits, HttpConnection::Handle handle);
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  enum class Transport : std::uint8_t { kPlain, kTls };
  // A listening, non-blocking socket. For TLS there has to be a certificate first.
  void listen_on(UniqueFd listener, Transport transport = Transport::kPlain);
  // For clients that come from now on.
  void use_certificate(TlsContext certificate) { certificate_ = std::move(certificate); }
  // From now on new clients find nobody, and those that wait between two requests are sent away.
  void stop_listening();
  // Turns out clients that take too long. Returns when to look again.
  [[nodiscard]] MonoTime tick(MonoTime now);
  [[nodiscard]] std::size_t connections() const { return connections_.size(); }
  // Whether somebody waits for an answer, or for the rest of one.
  [[nodiscard]] bool is_answering() const;

 private:
  struct Listener {
    UniqueFd socket;
    Transport transport = Transport::kPlain;
    EventLoop::Watch watch;
  };

  void accept_all(Listener& listener);
  void admit(UniqueFd socket, Transport transport, std::string peer);
  void pause();

  EventLoop& loop_;
  const HttpLimits limits_;
  const HttpConnection::Handle handle_;
  std::optional<TlsContext> certificate_;
  std::list<Listener> listeners_;
  std::list<std::shared_ptr<HttpConnection>> connections_;
  std::unordered_map<std::string, std::size_t> by_peer_;
  bool is_paused_ = false;
  MonoTime look_at_{};
};

}  // namespace drover
