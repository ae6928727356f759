// Two thousand who watch while others enqueue: what that costs those, and whether everybody sees everything. Half of
// the tasks are of owners who are watched, so that at 10,000 enqueues a second 5,000 events go out.
#include <fmt/format.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <array>
#include <atomic>
#include <map>
#include <set>
#include <stdexcept>
#include <thread>

#include "base/clock.h"
#include "base/json.h"
#include "cases.h"
#include "engine/open.h"
#include "net/websocket.h"
#include "server_process.h"

namespace drover::bench {
namespace {

constexpr std::size_t kFrameBytesMax = std::size_t{1} << 20U;
constexpr Millis kPatience{60'000};
constexpr int kLookMs = 50;

std::string owner_name(int i) {
  return fmt::format("owner-{}", i);
}

// Over a WebSocket; keeps the ids of the tasks of its owner.
class Watcher {
 public:
  Watcher(const ServerProcess& server, const std::string& owner) : socket_(connect_to(server.port())) {
    const std::string request = fmt::format(
        "GET /v1/ws?owner={} HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\nUpgrade: websocket\r\n"
        "Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
        owner, server.address(), server.token());
    if (::send(fd(), request.data(), request.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(request.size())) {
      throw std::runtime_error("cannot ask to watch");
    }
  }

  [[nodiscard]] int fd() const { return socket_.get(); }
  [[nodiscard]] bool is_closed() const { return is_closed_; }
  // How many messages have come.
  [[nodiscard]] int frames() const { return frames_; }
  [[nodiscard]] const std::set<std::string>& tasks() const { return tasks_; }

  void read() {
    std::array<char, 65'536> piece;
    const ssize_t size = ::recv(fd(), piece.data(), piece.size(), MSG_DONTWAIT);
    if (size <= 0) {
      is_closed_ = true;
      return;
    }
    input_.append(piece.data(), static_cast<std::size_t>(size));
  }

  // Looks at what it has read. Not while rates are measured: that would be measured, too.
  void understand() {
    if (!has_head_) {
      const std::size_t end = input_.find("\r\n\r\n");
      if (end == std::string::npos) return;
      if (!input_.starts_with("HTTP/1.1 101")) throw std::runtime_error(input_);
      has_head_ = true;
      input_.erase(0, end + 4);
    }
    reader_.feed(std::exchange(input_, {}));
    take_messages();
  }

 private:
  void take_messages() {
    for (;;) {
      const auto next = reader_.next();
      if (!next) throw std::runtime_error(std::string(next.error().reason));
      if (!*next) return;
      const WebSocketMessage& message = **next;
      if (message.kind == WebSocketKind::kClose) is_closed_ = true;
      if (message.kind != WebSocketKind::kText) continue;
      ++frames_;
      note(message.payload);
    }
  }
  void note(const std::string& text) {
    const auto frame = must(json::parse(text));
    if (const json::Value* events = frame.find("events")) {
      for (const json::Value& event : *events->as_array()) tasks_.insert(*event.find("task_id")->as_string());
    }
    if (const json::Value* tasks = frame.find("tasks")) {
      for (const json::Value& task : *tasks->as_array()) tasks_.insert(*task.find("id")->as_string());
    }
  }

  UniqueFd socket_;
  WebSocketReader reader_{WebSocketPeer::kServer, kFrameBytesMax};
  std::string input_;
  bool has_head_ = false;
  bool is_closed_ = false;
  int frames_ = 0;
  std::set<std::string> tasks_;
};

// All of them, on a thread that does nothing else.
class Crowd {
 public:
  Crowd(const ServerProcess& server, int count) : epoll_(::epoll_create1(EPOLL_CLOEXEC)) {
    for (int i = 0; i < count; ++i) {
      Watcher& watcher = *watchers_.emplace_back(std::make_unique<Watcher>(server, owner_name(i)));
      epoll_event wanted{.events = EPOLLIN, .data = {.ptr = &watcher}};
      ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, watcher.fd(), &wanted);
    }
    for (const auto& watcher : watchers_) until(*watcher, [&] { return watcher->frames() > 0; });
  }

  // Reads on a thread of its own until it is told to stop.
  void start() {
    thread_ = std::jthread([this](const std::stop_token& stop) {
      while (!stop.stop_requested()) read(kLookMs);
    });
  }
  void stop() { thread_ = {}; }
  // Reads until that is so of this one, or it is closed.
  void until(Watcher& watcher, const std::function<bool()>& done) {
    const MonoTime give_up_at = system_clock().mono() + kPatience;
    for (watcher.understand(); !watcher.is_closed() && !done(); watcher.understand()) {
      if (system_clock().mono() > give_up_at) throw std::runtime_error("those who watch do not see everything");
      read(kLookMs);
    }
  }
  [[nodiscard]] const std::vector<std::unique_ptr<Watcher>>& watchers() const { return watchers_; }

 private:
  void read(int timeout_ms) {
    std::array<epoll_event, 256> events;
    const int ready = ::epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), timeout_ms);
    for (int i = 0; i < ready; ++i) {
      Watcher& watcher = *static_cast<Watcher*>(events[static_cast<std::size_t>(i)].data.ptr);
      watcher.read();
      if (watcher.is_closed()) ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, watcher.fd(), nullptr);
    }
  }

  UniqueFd epoll_;
  std::vector<std::unique_ptr<Watcher>> watchers_;
  std::jthread thread_;
};

// What the store has, by owner.
std::map<std::string, std::set<std::string>> tasks_by_owner(TaskQueue& queue) {
  std::map<std::string, std::set<std::string>> tasks;
  std::optional<std::string> cursor;
  do {
    auto page = must(queue.list({}, 200, cursor));
    for (const Task& task : page.tasks) tasks[task.owner].insert(task.id.to_string());
    cursor = std::move(page.cursor);
  } while (cursor);
  return tasks;
}

std::vector<Figure> watch(Ground& ground, const Scale& scale) {
  const ServerProcess server(ground, Backend::kSqliteFull);
  std::vector<std::string> requests;
  for (int i = 0; i < scale.watchers; ++i) requests.push_back(enqueue_request(server, owner_name(i)));
  const std::string unwatched = enqueue_request(server, "nobody");
  const auto request = [&](int i) -> const std::string& {
    return i % 2 == 0 ? unwatched : requests[static_cast<std::size_t>(i / 2 % scale.watchers)];
  };
  const double alone = rate_of(server, scale.requests, request);

  Crowd crowd(server, scale.watchers);
  crowd.start();
  const double beside = rate_of(server, scale.requests, request);
  crowd.stop();
  const double memory = server.resident_mb();

  const auto queue = must(open_queue(server.url(), server.token()));
  const auto stored = tasks_by_owner(queue->queue());
  int closed = 0;
  for (int i = 0; i < scale.watchers; ++i) {
    Watcher& watcher = *crowd.watchers()[static_cast<std::size_t>(i)];
    const auto& expected = stored.at(owner_name(i));
    crowd.until(watcher, [&] { return watcher.tasks() == expected; });
    if (watcher.is_closed()) ++closed;
  }
  const std::string store = name_of(Backend::kSqliteFull);
  const std::string name(kRestWatched);
  return {{name, store, std::string(kDrover), Rate{beside}},
          {name, store, "nobody watching", Rate{alone}},
          {std::string(kWatchersClosed), store, std::string(kDrover), Amount{100.0 * closed / scale.watchers, "%"}},
          {"server with them, memory", store, std::string(kDrover), Amount{memory, "MB"}}};
}

}  // namespace

std::vector<Case> watcher_cases() {
  return {{"watchers", watch}};
}

}  // namespace drover::bench
