// HTTP over listening sockets, on one event loop. Everything here happens on the loop's thread.
#pragma once

#include <cstddef>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "net/http_connection.h"

namespace drover {

class HttpServer {
 public:
  // The budget outlives it.
  HttpServer(EventLoop& loop, HttpLimits limits, ByteBudget& budget, HttpConnection::Handle handle);
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
  using Line = std::list<std::shared_ptr<HttpConnection>>;  // in the order in which they came
  struct Listener {
    UniqueFd socket;
    Transport transport = Transport::kPlain;
    EventLoop::Watch watch;
  };

  void accept_all(Listener& listener);
  [[nodiscard]] bool accept_one(Listener& listener);
  void admit(UniqueFd socket, Transport transport, std::string peer);
  // Closes the stranger who came first, of those from there, or from where most come from. False: there is none to
  // close.
  bool turn_out_stranger(Line& strangers);
  bool turn_out_stranger();
  void pause();

  EventLoop& loop_;
  const HttpLimits limits_;
  const HttpConnection::Handle handle_;
  const HttpConnection::Common common_;
  std::optional<TlsContext> certificate_;
  std::list<Listener> listeners_;
  std::unordered_set<std::shared_ptr<HttpConnection>> connections_;
  // Those who have not shown who they are when last looked at, by neighbourhood.
  std::unordered_map<std::string, Line> strangers_;
  bool is_paused_ = false;
  MonoTime look_at_{};
};

}  // namespace drover
