// The task's own door: a 0600 Unix socket per run that speaks a small part of the REST API. The run's lease stays on
// this side of it.
//
//   GET  /v1/task              the task's record with its checkpoint, and earlier_runs
//   POST /v1/task/progress     {"percent": 40, "message": "…"}
//   POST /v1/task/log          {"text": "…"} or {"lines": ["…"]}
//   POST /v1/task/checkpoint   any JSON value
//   POST /v1/tasks             children: one task object, or {"tasks": […]}
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/clock.h"
#include "drover/task_queue.h"
#include "net/event_loop.h"
#include "net/http_server.h"

namespace drover {

// What agents make a worker hold, in all.
inline constexpr std::size_t kDoorBytesMax = 64 * 1024 * 1024;

// What the door answers. Calls the queue; may take as long as it does.
[[nodiscard]] HttpResponse answer_door(TaskQueue& queue, const ClaimedTask& claimed, const HttpRequest& request);

// The listening socket and its connections, on one event loop. Limits: connections, and how long a client may take.
class Door {
 public:
  // Hands a request to whoever may wait for the queue; `reply` is called later on the loop's thread, at most once.
  using Reply = std::function<void(HttpResponse)>;
  using Handle = std::function<void(HttpRequest, Reply reply)>;

  // All doors of a worker share its budget, which outlives them.
  [[nodiscard]] static Result<std::unique_ptr<Door>> open(EventLoop& loop, ByteBudget& budget, const std::string& path,
                                                          Handle handle);
  ~Door();
  Door(const Door&) = delete;
  Door& operator=(const Door&) = delete;

  // Turns out clients that take too long. Returns when to look again.
  [[nodiscard]] MonoTime tick(MonoTime now) { return server_.tick(now); }

 private:
  Door(EventLoop& loop, ByteBudget& budget, std::string path, UniqueFd listener, Handle handle);

  std::string path_;
  Handle handle_;
  HttpServer server_;
};

// The other side: one request to the door at `url` ("unix:PATH", as DROVER_URL has it). The body of a good answer, or
// the error that the door tells of; kStoreUnavailable when nobody is there.
[[nodiscard]] Result<std::string> door_request(const std::string& url, const std::string& method,
                                               const std::string& target, std::string body, Millis timeout);

// `drover progress` from inside a task.
[[nodiscard]] Status report_progress(const std::string& url, const Progress& progress);

}  // namespace drover
