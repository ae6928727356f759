#include "worker/door.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/log.h"

namespace drover {
namespace {

constexpr std::size_t kConnectionsMax = 16;
constexpr int kBacklog = 16;
constexpr std::size_t kReadBytes = 64 * 1024;
// For a whole request to come in, or a response to go out.
constexpr Millis kExchangeMax{30'000};
constexpr Millis kIdleMax{120'000};

std::unexpected<Error> cannot_open(const std::string& path, int error_number) {
  return fail(ErrorCode::kInternal,
              fmt::format("cannot open the task's door {}: {}", path, std::strerror(error_number)), "worker.door");
}

}  // namespace

// Reads a request, hands it over, writes the answer, and so on. While a request is being answered it reads nothing.
class Door::Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(Door& door, UniqueFd socket) : door_(door), socket_(std::move(socket)) {}

  void open(MonoTime now) {
    since_ = now;
    watch_ = door_.loop_.watch(socket_.get(), EPOLLIN, [this](std::uint32_t events) { ready(events); });
  }
  [[nodiscard]] bool is_closed() const { return phase_ == Phase::kClosed; }
  [[nodiscard]] MonoTime gives_up_at() const {
    switch (phase_) {
      case Phase::kReading:
        return since_ + (reader_.is_within_request() ? kExchangeMax : kIdleMax);
      case Phase::kWriting:
        return since_ + kExchangeMax;
      case Phase::kAnswering:
      case Phase::kClosed:
        return {Millis::max()};
    }
    return {Millis::max()};
  }
  void close() {
    phase_ = Phase::kClosed;
    watch_.reset();
    socket_.reset();
  }

 private:
  enum class Phase : std::uint8_t { kReading, kAnswering, kWriting, kClosed };

  void ready(std::uint32_t events) {
    switch (phase_) {
      case Phase::kReading:
        return read();
      case Phase::kWriting:
        return write();
      case Phase::kAnswering:  // nothing was asked for, so it is told only that the client is gone
        if ((events & (EPOLLHUP | EPOLLERR)) != 0) close();
        return;
      case Phase::kClosed:
        return;
    }
  }

  void read() {
    std::array<char, kReadBytes> buffer;
    const ssize_t size = ::recv(socket_.get(), buffer.data(), buffer.size(), 0);
    if (size < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (size <= 0) return close();
    if (!reader_.is_within_request()) since_ = system_clock().mono();
    reader_.feed({buffer.data(), static_cast<std::size_t>(size)});
    if (reader_.wants_continue()) {
      // A few bytes into an empty socket buffer; should they not fit, the client goes on after its own wait.
      ::send(socket_.get(), kHttpContinue.data(), kHttpContinue.size(), MSG_NOSIGNAL);
    }
    take_next();
  }

  void take_next() {
    auto next = reader_.next();
    if (!next) {
      HttpResponse refusal = problem(next.error().status, Error{ErrorCode::kInvalidArgument, next.error().message, {}});
      refusal.keep_alive = false;
      return answer(refusal);
    }
    std::optional<HttpRequest>& request = *next;
    if (!request) return;
    phase_ = Phase::kAnswering;
    watch_.set_events(0);
    const bool keep_alive = request->keep_alive;
    door_.handle_(*std::move(request), [weak = weak_from_this(), keep_alive](HttpResponse response) {
      const auto self = weak.lock();
      if (self == nullptr || self->is_closed()) return;
      response.keep_alive = keep_alive;
      self->answer(response);
    });
  }

  void answer(const HttpResponse& response) {
    phase_ = Phase::kWriting;
    since_ = system_clock().mono();
    then_close_ = !response.keep_alive;
    out_ = format_response(response);
    watch_.set_events(EPOLLOUT);
    write();
  }

  void write() {
    while (!out_.empty()) {
      const ssize_t size = ::send(socket_.get(), out_.data(), out_.size(), MSG_NOSIGNAL);
      if (size < 0 && errno == EINTR) continue;
      if (size < 0 && errno == EAGAIN) return;
      if (size < 0) return close();
      out_.erase(0, static_cast<std::size_t>(size));
    }
    if (then_close_) return close();
    phase_ = Phase::kReading;
    since_ = system_clock().mono();
    watch_.set_events(EPOLLIN);
    take_next();
  }

  Door& door_;
  UniqueFd socket_;
  HttpRequestReader reader_;
  std::string out_;
  Phase phase_ = Phase::kReading;
  MonoTime since_{};
  bool then_close_ = false;
  EventLoop::Watch watch_;
};

Result<std::unique_ptr<Door>> Door::open(EventLoop& loop, const std::string& path, Handle handle) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) return cannot_open(path, ENAMETOOLONG);
  std::memcpy(address.sun_path, path.data(), path.size());

  UniqueFd listener(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!listener.is_open()) return cannot_open(path, errno);
  // Its folder is 0700, so that nobody else reaches it before the mode is set.
  if (::bind(listener.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      ::chmod(path.c_str(), S_IRUSR | S_IWUSR) != 0 || ::listen(listener.get(), kBacklog) != 0) {
    return cannot_open(path, errno);
  }
  return std::unique_ptr<Door>(new Door(loop, path, std::move(listener), std::move(handle)));
}

Door::Door(EventLoop& loop, std::string path, UniqueFd listener, Handle handle)
    : loop_(loop), path_(std::move(path)), listener_(std::move(listener)), handle_(std::move(handle)) {
  watch_ = loop_.watch(listener_.get(), EPOLLIN, [this](std::uint32_t) { accept_all(); });
}

Door::~Door() {
  for (const auto& connection : connections_) connection->close();
  ::unlink(path_.c_str());
}

// Those beyond the limit wait in the listener's backlog until a place is free.
void Door::accept_all() {
  while (connections_.size() < kConnectionsMax) {
    UniqueFd socket(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!socket.is_open()) {
      if (errno == EINTR || errno == ECONNABORTED) continue;
      if (errno != EAGAIN) {
        log_warn("door", "cannot accept a connection", {{"error", std::strerror(errno)}});
        pause();
      }
      return;
    }
    connections_.push_back(std::make_shared<Connection>(*this, std::move(socket)));
    connections_.back()->open(system_clock().mono());
  }
  pause();
}

// Until tick finds that there is room again.
void Door::pause() {
  is_paused_ = true;
  watch_.set_events(0);
}

MonoTime Door::tick(MonoTime now) {
  for (const auto& connection : connections_) {
    if (now >= connection->gives_up_at()) connection->close();
  }
  std::erase_if(connections_, [](const auto& connection) { return connection->is_closed(); });
  MonoTime next{Millis::max()};
  for (const auto& connection : connections_) next = std::min(next, connection->gives_up_at());
  if (is_paused_ && connections_.size() < kConnectionsMax) {
    is_paused_ = false;
    watch_.set_events(EPOLLIN);
  }
  return next;
}

}  // namespace drover
