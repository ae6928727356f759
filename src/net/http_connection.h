// One client of an HTTP server. Everything here happens on the loop's thread.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "net/byte_budget.h"
#include "net/event_loop.h"
#include "net/http.h"
#include "net/tls_session.h"

namespace drover {

struct HttpLimits {
  std::size_t connections_max = 16;
  // Of one address, among those that never showed who they are; 0: as many as there may be in all.
  std::size_t strangers_per_peer_max = 0;
  std::size_t body_bytes_max = kHttpBodyBytesMax;
  Millis header_max{10'000};    // for a TLS handshake and the first request's header to come in, or a later header
  Millis exchange_max{30'000};  // for a whole request to come in, or a response, or a piece of it, to go out
  Millis idle_max{120'000};     // between two requests
};

// It reads a request, hands it over, writes the answer, and so on; while a request is being answered it takes nothing
// more. Closes by itself when the client goes or takes too long; answers to a closed one are dropped. What it holds is
// counted in the budget, and when memory runs out it is closed, and nobody else.
class HttpConnection : public std::enable_shared_from_this<HttpConnection> {
 public:
  using Handle = std::function<void(HttpRequest, const std::shared_ptr<HttpConnection>&)>;
  // What all connections of a server share. Outlives them while they are open; the budget outlives them.
  struct Common {
    EventLoop& loop;
    const HttpLimits& limits;
    ByteBudget& budget;
    const Handle& handle;
  };
  // What a connection that has become a stream gets to hear.
  struct StreamEvents {
    // Returns how many bytes of what came it holds now.
    std::function<std::size_t(std::string_view bytes)> received;
    std::function<void()> drained;  // everything that was sent has left
    std::function<void()> closed;   // once, whoever closed it
  };

  // With `tls` the client has to speak TLS.
  HttpConnection(const Common& common, UniqueFd socket, std::optional<TlsSession> tls, std::string peer);
  ~HttpConnection();

  void open();
  // Answers the request that was handed over, once.
  void respond(HttpResponse response);
  // Answers it with a body that comes in pieces, of which the response has the first. `more` is called when there is
  // room for another: then add_piece() is, or end_pieces(), now or later. It may be called as a copy.
  void respond_in_pieces(HttpResponse response, std::function<void()> more);
  void add_piece(std::string_view bytes);
  void end_pieces();
  // Answers it with a head after which bytes flow both ways, until either side closes. While much waits to be sent,
  // nothing is read.
  void start_stream(std::string head, StreamEvents events);
  // Of a stream: queues bytes; unsent() says how many wait, as they go over the wire. The sender has to look at it.
  void send(std::string_view bytes);
  [[nodiscard]] std::size_t unsent() const { return out_.size() - sent_; }
  // Nothing is read any more.
  void close_when_sent();
  void close();

  // The client has shown who it is.
  void set_known();
  [[nodiscard]] bool is_known() const { return is_known_; }
  [[nodiscard]] bool is_closed() const { return phase_ == Phase::kClosed; }
  [[nodiscard]] const std::string& peer() const { return peer_; }
  [[nodiscard]] MonoTime gives_up_at() const;
  // Between a request and the last byte of its answer.
  [[nodiscard]] bool is_answering() const { return phase_ == Phase::kAnswering || phase_ == Phase::kWriting; }
  // Its request was handed over, and not answered yet.
  [[nodiscard]] bool awaits_answer() const { return phase_ == Phase::kAnswering; }
  // Between two requests.
  [[nodiscard]] bool is_idle() const { return phase_ == Phase::kReading && !reader_.is_within_request(); }

 private:
  // kLeaving: the last word was said; what still comes is dropped, so that the client gets to read it.
  enum class Phase : std::uint8_t { kReading, kAnswering, kWriting, kStreaming, kLeaving, kClosed };
  enum class Flushed : std::uint8_t { kAll, kSome, kBroken };

  // Does it; counts what is held afterwards. Should memory run out, the connection is closed.
  template <class Work>
  void guarded(Work work);
  void ready(std::uint32_t events);
  void ready_to_read(std::uint32_t events);
  void read();
  // What the client says, without TLS.
  void receive(std::string_view bytes);
  void receive_tls(TlsSession& tls, std::string_view bytes);
  void refuse(HttpResponse response);
  void let_go();
  void take_next();
  void begin_answer(HttpResponse& response);
  // Appends to out_ what stands for these bytes on the wire.
  void put(std::string_view bytes);
  void put_piece(std::string_view bytes);
  [[nodiscard]] Flushed flush();
  void write();
  void written();
  void leave();
  void say_goodbye();
  [[nodiscard]] std::uint32_t wanted() const;
  void want(std::uint32_t events);
  void count();

  const Common common_;
  UniqueFd socket_;
  std::optional<TlsSession> tls_;
  std::string peer_;
  HttpRequestReader reader_;
  std::size_t request_bytes_ = 0;  // of the request that is being answered
  std::string out_;                // as it goes over the wire
  std::size_t sent_ = 0;           // of out_
  Phase phase_ = Phase::kReading;
  MonoTime since_{};
  bool has_asked_ = false;  // at least one whole request
  bool is_known_ = false;
  bool keep_alive_ = true;
  bool takes_chunks_ = true;
  bool then_close_ = false;
  bool leaves_input_ = false;  // what it still sends is of no use
  std::uint32_t watched_ = 0;
  std::function<void()> more_;  // of an answer in pieces
  bool wants_more_ = false;     // a piece was asked for
  StreamEvents stream_;
  std::size_t stream_holds_ = 0;
  ByteBudget::Holder held_;
  EventLoop::Watch watch_;
};

}  // namespace drover
