#include "support/fault_proxy.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <system_error>
#include <utility>
#include <vector>

#include "support/loopback.h"

namespace drover::test {
namespace {

using std::chrono::steady_clock;

constexpr int kNever = -1;

[[noreturn]] void throw_errno(const char* what) {
  throw std::system_error(errno, std::generic_category(), what);
}

// A peer that does not read, as a frozen server, counts as gone after this.
void bound_sends(int fd) {
  const timeval bound{.tv_sec = 5, .tv_usec = 0};
  ::setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &bound, sizeof bound);
}

// Closing it sends a reset instead of an orderly end.
void close_with_reset(UniqueFd& fd) {
  const linger at_once{.l_onoff = 1, .l_linger = 0};
  if (fd.is_open()) ::setsockopt(fd.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  fd.reset();
}

// "*2\r\n": the number after the kind, and where the next line begins.
struct Line {
  std::size_t number;
  std::size_t end;
};
std::optional<Line> read_line(std::string_view text, std::size_t begin) {
  const std::size_t end = text.find("\r\n", begin);
  if (end == std::string_view::npos) return std::nullopt;
  Line line{0, end + 2};
  std::from_chars(text.data() + begin + 1, text.data() + end, line.number);
  return line;
}

// The size of the first command in RESP; nothing while it is not complete.
std::optional<std::size_t> command_size(std::string_view text) {
  const std::optional<Line> count = read_line(text, 0);
  if (!count) return std::nullopt;
  std::size_t end = count->end;
  for (std::size_t i = 0; i < count->number; ++i) {
    const std::optional<Line> length = read_line(text, end);
    if (!length) return std::nullopt;
    end = length->end + length->number + 2;
  }
  if (end > text.size()) return std::nullopt;
  return end;
}

// What has arrived; nothing at the end of the stream.
std::optional<std::string> read_available(int fd) {
  std::array<char, 64 * 1024> buffer;
  const ssize_t got = ::recv(fd, buffer.data(), buffer.size(), MSG_DONTWAIT);
  if (got > 0) return std::string(buffer.data(), static_cast<std::size_t>(got));
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return std::string();
  return std::nullopt;
}

}  // namespace

FaultProxy::FaultProxy(std::uint16_t target_port)
    : target_port_(target_port),
      listener_(listen_on_loopback(port_)),
      wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      thread_([this] { run(); }) {}

FaultProxy::~FaultProxy() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake();
  thread_.join();
}

redis::Address FaultProxy::address() const {
  return {.host = "127.0.0.1", .port = port_};
}

int FaultProxy::accepted() const {
  const std::lock_guard lock(mutex_);
  return accepted_;
}

void FaultProxy::set(Mode mode) {
  mode_ = mode;
  delay_ = Millis(0);
  bytes_left_.reset();
  next_answer_.reset();
}

void FaultProxy::pass() {
  const std::lock_guard lock(mutex_);
  set(Mode::kPass);
}

void FaultProxy::delay(Millis by) {
  const std::lock_guard lock(mutex_);
  set(Mode::kPass);
  delay_ = by;
}

void FaultProxy::blackhole() {
  const std::lock_guard lock(mutex_);
  set(Mode::kBlackhole);
}

void FaultProxy::reset() {
  std::unique_lock lock(mutex_);
  set(Mode::kReset);
  // By the thread that polls: as long as it does, closing a socket has no effect.
  breaking_ = true;
  wake();
  broken_.wait(lock, [this] { return !breaking_; });
}

void FaultProxy::cut_after(std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  set(Mode::kPass);
  bytes_left_ = bytes;
}

void FaultProxy::answer_next(std::string error) {
  const std::lock_guard lock(mutex_);
  set(Mode::kPass);
  next_answer_ = std::move(error);
}

void FaultProxy::wake() const {
  static_cast<void>(::eventfd_write(wake_.get(), 1));  // fails only when it is awake anyway
}

void FaultProxy::run() {
  for (;;) {
    std::vector<pollfd> watched{{wake_.get(), POLLIN, 0}, {listener_.get(), POLLIN, 0}};
    int timeout_ms = kNever;
    {
      const std::lock_guard lock(mutex_);
      if (stopping_) return;
      std::erase_if(pairs_, [](const Pair& pair) { return pair.broken; });
      for (const Pair& pair : pairs_) {
        watched.push_back({pair.client.fd.get(), POLLIN, 0});
        watched.push_back({pair.server.fd.get(), POLLIN, 0});
      }
      timeout_ms = next_due_ms();
    }
    if (::poll(watched.data(), watched.size(), timeout_ms) < 0 && errno != EINTR) throw_errno("poll");
    const std::lock_guard lock(mutex_);
    eventfd_t wakes = 0;
    static_cast<void>(::eventfd_read(wake_.get(), &wakes));
    if (std::exchange(breaking_, false)) {
      for (Pair& pair : pairs_) break_off(pair);
      broken_.notify_all();
    }
    std::size_t at = 2;  // only this thread adds and removes pairs, so that they still stand in this order
    for (Pair& pair : pairs_) {
      serve(pair, watched[at].revents, watched[at + 1].revents);
      at += 2;
    }
    if (watched[1].revents != 0) accept_one();
  }
}

int FaultProxy::next_due_ms() const {
  std::optional<TimePoint> first;
  for (const Pair& pair : pairs_) {
    for (const Side* side : {&pair.client, &pair.server}) {
      if (!side->waiting.empty()) first = std::min(first.value_or(TimePoint::max()), side->waiting.front().due);
    }
  }
  if (!first) return kNever;
  return static_cast<int>(std::max(std::chrono::ceil<Millis>(*first - steady_clock::now()), Millis(0)).count());
}

void FaultProxy::accept_one() {
  UniqueFd client(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
  if (!client.is_open()) return;
  ++accepted_;
  UniqueFd server = mode_ == Mode::kReset ? UniqueFd() : connect_to_loopback(target_port_);
  if (!server.is_open()) return close_with_reset(client);
  bound_sends(client.get());
  bound_sends(server.get());
  pairs_.push_back({.client = {std::move(client), {}}, .server = {std::move(server), {}}, .command = {}});
}

void FaultProxy::serve(Pair& pair, short client_events, short server_events) {
  if (!pair.broken && client_events != 0) from_client(pair);
  if (!pair.broken && server_events != 0) from_server(pair);
  if (!pair.broken) flush(pair.server, pair.broken);
  if (!pair.broken) flush(pair.client, pair.broken);
}

void FaultProxy::from_client(Pair& pair) {
  std::optional<std::string> bytes = read_available(pair.client.fd.get());
  if (!bytes) return break_off(pair);
  if (mode_ != Mode::kPass || bytes->empty()) return;
  if (next_answer_) return take_command(pair, *std::move(bytes));
  pair.server.waiting.push_back({steady_clock::now(), *std::move(bytes)});
}

void FaultProxy::take_command(Pair& pair, std::string bytes) {
  pair.command += bytes;
  const std::optional<std::size_t> size = command_size(pair.command);
  if (!size) return;
  pair.client.waiting.push_back({steady_clock::now(), "-" + *std::exchange(next_answer_, std::nullopt) + "\r\n"});
  if (*size < pair.command.size()) pair.server.waiting.push_back({steady_clock::now(), pair.command.substr(*size)});
  pair.command.clear();
}

void FaultProxy::from_server(Pair& pair) {
  std::optional<std::string> bytes = read_available(pair.server.fd.get());
  if (!bytes) return break_off(pair);
  if (mode_ != Mode::kPass || bytes->empty()) return;
  if (bytes_left_ && bytes->size() > *bytes_left_) {
    bytes->resize(*bytes_left_);
    pair.client.waiting.push_back({steady_clock::now(), *std::move(bytes)});
    flush(pair.client, pair.broken);
    // An orderly end: a reset could overtake the bytes.
    pair.client.fd.reset();
    pair.broken = true;
    return;
  }
  if (bytes_left_) *bytes_left_ -= bytes->size();
  pair.client.waiting.push_back({steady_clock::now() + delay_, *std::move(bytes)});
}

void FaultProxy::flush(Side& side, bool& broken) {
  while (!side.waiting.empty() && side.waiting.front().due <= steady_clock::now()) {
    std::string_view bytes = side.waiting.front().bytes;
    while (!bytes.empty()) {
      const ssize_t sent = ::send(side.fd.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent < 0 && errno == EINTR) continue;
      if (sent < 0) {
        broken = true;
        return;
      }
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
    side.waiting.pop_front();
  }
}

void FaultProxy::break_off(Pair& pair) {
  close_with_reset(pair.client.fd);
  close_with_reset(pair.server.fd);
  pair.broken = true;
}

}  // namespace drover::test
