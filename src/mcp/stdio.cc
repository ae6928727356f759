#include "mcp/stdio.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <csignal>
#include <cstring>
#include <deque>
#include <list>
#include <mutex>
#include <thread>

#include "base/json.h"
#include "base/json_reader.h"
#include "base/log.h"
#include "mcp/line_reader.h"
#include "mcp/progress.h"

namespace drover::mcp {
namespace {

constexpr Millis kBetweenLooks{100};  // at those that wait, however much happens
constexpr Millis kStopsWithin{500};
constexpr std::size_t kLinesMax = 64;  // read and not looked at yet

class StdioServer {
 public:
  StdioServer(const Service& service, Toolset& tools, const StdioOptions& options)
      : service_(service), tools_(tools), options_(options) {}

  Status run() {
    const std::jthread reader([this] { read_lines(); });
    const std::jthread watcher([this] { watch(); });
    serve();
    const std::lock_guard lock(mutex_);
    ending_ = true;
    changed_.notify_all();
    return {};
  }

 private:
  // A call that waits.
  struct Pending {
    Request request;
    std::string made;
    Waiting waiting;
    MonoTime until;
    Told told;
  };

  // ---- reading

  void read_lines() {
    std::vector<char> buffer(std::size_t{64} << 10U);
    LineCutter cutter(kLineBytesMax);
    while (!ending_) {
      pollfd ready{.fd = options_.in, .events = POLLIN, .revents = 0};
      if (::poll(&ready, 1, static_cast<int>(kStopsWithin.count())) <= 0) continue;
      const ssize_t count = ::read(options_.in, buffer.data(), buffer.size());
      if (count < 0 && (errno == EINTR || errno == EAGAIN)) continue;
      if (count <= 0) break;
      for (auto& line : cutter.add({buffer.data(), static_cast<std::size_t>(count)})) put(std::move(line));
    }
    if (auto line = cutter.rest()) put(std::move(line));
    const std::lock_guard lock(mutex_);
    at_end_ = true;
    changed_.notify_all();
  }

  void put(std::optional<std::string> line) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return lines_.size() < kLinesMax || ending_; });
    lines_.push_back(std::move(line));
    changed_.notify_all();
  }

  // ---- watching, while somebody waits

  void watch() {
    while (!ending_) {
      {
        std::unique_lock lock(mutex_);
        changed_.wait_for(lock, kStopsWithin, [this] { return waiting_ || ending_; });
        if (!waiting_ || ending_) continue;
      }
      // Noted before the look: what happens from here on ends the wait.
      const std::uint64_t seen = options_.changes();
      {
        const std::lock_guard lock(mutex_);
        look_ = true;
        changed_.notify_all();
      }
      options_.wait_for_change(seen, kStopsWithin);
      // However much happens, those who wait are looked at ten times a second.
      std::unique_lock lock(mutex_);
      changed_.wait_for(lock, kBetweenLooks, [this] { return ending_.load(); });
    }
  }

  // ---- answering

  void serve() {
    while (!broken_) {
      std::optional<std::string> line;
      const Turn turn = next(line);
      if (turn == Turn::kLine) take(line);
      if (turn == Turn::kEnd) break;
      const MonoTime now = system_clock().mono();
      if (turn == Turn::kLook || now >= next_look_) look_at_pending(now);
    }
    for (Pending& pending : pending_) answer(pending, Attempt::kLast);
  }

  enum class Turn : std::uint8_t { kLine, kLook, kTime, kEnd };

  Turn next(std::optional<std::string>& line) {
    std::unique_lock lock(mutex_);
    waiting_ = !pending_.empty();
    if (waiting_) changed_.notify_all();
    const auto is_ready = [this] { return !lines_.empty() || at_end_ || (look_ && may_look()); };
    changed_.wait_for(lock, waiting_ ? kBetweenLooks : Millis{60'000}, is_ready);
    if (!lines_.empty()) {
      line = std::move(lines_.front());
      lines_.pop_front();
      changed_.notify_all();
      return Turn::kLine;
    }
    if (at_end_) return Turn::kEnd;
    if (!look_ || !may_look()) return Turn::kTime;
    look_ = false;
    return Turn::kLook;
  }

  [[nodiscard]] bool may_look() const { return system_clock().mono() >= looked_at_ + kBetweenLooks; }

  void take(const std::optional<std::string>& line) {
    if (!line) {
      write(error_message({.code = kInvalidRequest, .message = "Invalid request: the line is longer than 16 MiB"}));
      return;
    }
    auto request = read_request(*line, nullptr);
    if (!request) {
      // Nobody waits for an answer to a notification, whatever is wrong with it.
      const bool is_notification = request.error().code == kInvalidParams && !request.error().id;
      if (!is_notification) write(error_message(request.error()));
      return;
    }
    if (request->message.method == "notifications/cancelled") return take_back(request->message);
    Pending call{.request = *std::move(request), .made = {}, .waiting = {}, .until = {}, .told = {}};
    if (answer(call, Attempt::kMayWait)) return;
    const MonoTime now = system_clock().mono();
    if (pending_.size() >= kWaitingCallsMax) {
      answer(call, Attempt::kLast);
      return;
    }
    call.until = now + call.waiting.at_most;
    tell(call, now);
    pending_.push_back(std::move(call));
    next_look_ = std::min(next_look_, now + kBetweenLooks);
  }

  void take_back(const Message& cancelled) {
    std::optional<std::string> id;
    json::Reader in(cancelled.params);
    in.get_text("requestId", id);
    if (!in.finish() || !id) return;
    pending_.remove_if([&](const Pending& pending) { return pending.request.message.id == id; });
  }

  // Whether it has its answer.
  bool answer(Pending& call, Attempt attempt) {
    auto said = service_.answer(call.request, tools_, call.made, attempt);
    if (auto* waiting = std::get_if<Waiting>(&said)) {
      call.waiting = std::move(*waiting);
      return false;
    }
    write(std::get<Response>(said).body);
    return true;
  }

  void look_at_pending(MonoTime now) {
    looked_at_ = now;
    next_look_ = now + Millis{60'000};
    for (auto pending = pending_.begin(); pending != pending_.end();) {
      const bool is_over = now >= pending->until;
      if (answer(*pending, is_over ? Attempt::kLast : Attempt::kMayWait) || is_over) {
        pending = pending_.erase(pending);
        continue;
      }
      tell(*pending, now);
      next_look_ = std::min(next_look_, pending->until);
      if (pending->request.progress_token) next_look_ = std::min(next_look_, pending->told.at + kProgressEvery);
      ++pending;
    }
  }

  void tell(Pending& pending, MonoTime now) {
    if (const auto news = tell_progress(pending.request, pending.waiting, pending.told, now)) write(*news);
  }

  void write(std::string_view message) {
    if (message.empty() || broken_) return;
    std::string line(message);
    line += '\n';
    std::string_view left(line);
    while (!left.empty()) {
      const ssize_t count = ::write(options_.out, left.data(), left.size());
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) {
        log_warn("mcp", "cannot write to the client", {{"error", std::strerror(errno)}});
        broken_ = true;
        return;
      }
      left.remove_prefix(static_cast<std::size_t>(count));
    }
  }

  const Service& service_;
  Toolset& tools_;
  const StdioOptions& options_;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::optional<std::string>> lines_;
  bool at_end_ = false;
  bool look_ = false;     // something may have happened
  bool waiting_ = false;  // somebody waits for that
  std::atomic<bool> ending_{false};

  // Of the thread that answers.
  std::list<Pending> pending_;
  MonoTime looked_at_{};
  MonoTime next_look_{Millis::max()};
  bool broken_ = false;
};

}  // namespace

Status serve_stdio(const Service& service, Toolset& tools, const StdioOptions& options) {
  ::signal(SIGPIPE, SIG_IGN);  // NOLINT(cert-err33-c): there is always such a signal
  return StdioServer(service, tools, options).run();
}

}  // namespace drover::mcp
