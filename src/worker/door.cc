#include "worker/door.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "worker/machine_limits.h"

namespace drover {
namespace {

constexpr int kBacklog = 16;
constexpr HttpLimits kLimits{.connections_max = 16};

std::unexpected<Error> cannot_open(const std::string& path, int error_number) {
  return fail(ErrorCode::kInternal,
              fmt::format("cannot open the task's door {}: {}", path, explain_error(error_number)), "worker.door");
}

}  // namespace

Result<std::unique_ptr<Door>> Door::open(EventLoop& loop, ByteBudget& budget, const std::string& path, Handle handle) {
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
  return std::unique_ptr<Door>(new Door(loop, budget, path, std::move(listener), std::move(handle)));
}

Door::Door(EventLoop& loop, ByteBudget& budget, std::string path, UniqueFd listener, Handle handle)
    : path_(std::move(path)),
      handle_(std::move(handle)),
      server_(loop, kLimits, budget, [this](HttpRequest request, const std::shared_ptr<HttpConnection>& connection) {
        handle_(std::move(request), [weak = std::weak_ptr(connection)](HttpResponse response) {
          if (const auto client = weak.lock()) client->respond(std::move(response));
        });
      }) {
  server_.listen_on(std::move(listener));
}

Door::~Door() {
  ::unlink(path_.c_str());
}

}  // namespace drover
