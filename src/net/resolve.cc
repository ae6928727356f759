#include "net/resolve.h"

#include <fmt/format.h>
#include <netdb.h>

#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "base/try_thread.h"

namespace drover {
namespace {

using Addresses = Result<std::vector<SocketAddress>>;

struct FreeList {
  void operator()(addrinfo* list) const { ::freeaddrinfo(list); }
};

Addresses ask_system(const std::string& host, std::uint16_t port, int flags) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags | AI_NUMERICSERV;
  addrinfo* raw = nullptr;
  const int error = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &raw);
  const std::unique_ptr<addrinfo, FreeList> list(raw);
  if (error != 0 || raw == nullptr) {
    return fail(ErrorCode::kStoreUnavailable, fmt::format("cannot find the host {}: {}", host, ::gai_strerror(error)),
                "socket.connect");
  }
  std::vector<SocketAddress> found;
  for (const addrinfo* one = raw; one != nullptr; one = one->ai_next) {
    found.emplace_back(one->ai_addr, one->ai_addrlen);
  }
  return found;
}

struct Question {
  std::mutex mutex;
  std::condition_variable answered;
  std::optional<Addresses> answer;
};

// The resolver cannot be told how long it may take: it is asked on a thread of its own, which is left behind when the
// time is over and ends by itself.
Addresses ask_in_time(const std::string& host, std::uint16_t port, const Patience& patience) {
  const auto question = std::make_shared<Question>();
  std::thread asking;
  const bool is_asked = try_thread(asking, [question, host, port] {
    Addresses answer = ask_system(host, port, AI_ADDRCONFIG);
    const std::lock_guard lock(question->mutex);
    question->answer = std::move(answer);
    question->answered.notify_one();
  });
  if (!is_asked) {
    return fail(ErrorCode::kStoreUnavailable, fmt::format("cannot find the host {}: no thread to ask with", host),
                "socket.connect");
  }
  asking.detach();
  std::unique_lock lock(question->mutex);
  question->answered.wait_until(lock, patience.deadline, [&] { return question->answer.has_value(); });
  const Error late{ErrorCode::kStoreUnavailable, fmt::format("the name service did not find {} in time", host),
                   "socket.connect"};
  return question->answer.value_or(std::unexpected(late));
}

}  // namespace

Addresses resolve(const std::string& host, std::uint16_t port, const Patience& patience) {
  Addresses numeric = ask_system(host, port, AI_NUMERICHOST);
  return numeric ? numeric : ask_in_time(host, port, patience);
}

}  // namespace drover
