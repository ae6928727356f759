// The agent's side of the door.
#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/json.h"
#include "worker/door.h"

namespace drover {
namespace {

constexpr std::string_view kScheme = "unix:";
constexpr Millis kProgressTimeout{30'000};
constexpr int kFirstBadStatus = 400;

std::unexpected<Error> unreachable(std::string_view why) {
  return fail(ErrorCode::kStoreUnavailable, fmt::format("the task's door does not answer: {}", why), "door");
}

Result<UniqueFd> connect_to(const std::string& url) {
  if (!url.starts_with(kScheme)) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("{} is no address of a task's door (unix:PATH)", json::quote(url)));
  }
  const std::string_view path = std::string_view(url).substr(kScheme.size());
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) return unreachable("its path is too long");
  std::memcpy(address.sun_path, path.data(), path.size());
  UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!socket.is_open() || ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    return unreachable(std::strerror(errno));
  }
  return socket;
}

Status send_all(const UniqueFd& socket, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t size = ::send(socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return unreachable(std::strerror(errno));
    bytes.remove_prefix(static_cast<std::size_t>(size));
  }
  return {};
}

Result<HttpResponse> receive(const UniqueFd& socket, MonoTime give_up_at) {
  HttpResponseReader reader;
  std::array<char, 16 * 1024> buffer;
  while (!reader.is_whole()) {
    const Millis left = give_up_at - system_clock().mono();
    pollfd wait{socket.get(), POLLIN, 0};
    const int ready = left > Millis{0} ? ::poll(&wait, 1, static_cast<int>(left.count())) : 0;
    if (ready == 0) return unreachable("it took too long");
    if (ready < 0) continue;
    const ssize_t size = ::recv(socket.get(), buffer.data(), buffer.size(), 0);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return unreachable(std::strerror(errno));
    const auto fed = size == 0 ? reader.end_of_stream() : reader.feed({buffer.data(), static_cast<std::size_t>(size)});
    if (!fed) return unreachable(fed.error().message);
    if (size == 0 && !reader.is_whole()) return unreachable("it closed without an answer");
  }
  return reader.take();
}

}  // namespace

Result<std::string> door_request(const std::string& url, const std::string& method, const std::string& target,
                                 std::string body, Millis timeout) {
  const auto socket = connect_to(url);
  if (!socket) return std::unexpected(socket.error());
  const HttpRequest request{.method = method, .target = target, .body = std::move(body), .keep_alive = false};
  if (const auto sent = send_all(*socket, format_request(request)); !sent) return std::unexpected(sent.error());
  auto response = receive(*socket, system_clock().mono() + timeout);
  if (!response) return std::unexpected(response.error());
  if (response->status >= kFirstBadStatus) return std::unexpected(error_of_problem(*response));
  return std::move(response->body);
}

Status report_progress(const std::string& url, const Progress& progress) {
  json::Writer out;
  out.begin_object().key("percent").number(progress.percent).key("message").string(progress.message).end_object();
  const auto answer = door_request(url, "POST", "/v1/task/progress", std::move(out).take(), kProgressTimeout);
  if (!answer) return std::unexpected(answer.error());
  return {};
}

}  // namespace drover
