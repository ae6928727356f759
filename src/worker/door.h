// The task's own door: a 0600 Unix socket per run that speaks a small part of the REST API. The run's lease stays on
// this side of it.
//
//   GET  /v1/task              the task's record with its checkpoint, earlier_runs and parents
//   GET  /v1/task/parents/{id or ref}/result   what a parent produced, whole
//   POST /v1/task/progress     {"percent": 40, "message": "…"}
//   POST /v1/task/log          {"text": "…"} or {"lines": ["…"]}
//   POST /v1/task/checkpoint   any JSON value
//   POST /v1/task/usage        {"usage": {…}}: all that the run has used so far, if its profile lets it say so
//   POST /v1/task/fail         {"class": "rate_limited", "message": "…", "retry_after": "30s", "note": "…"}
//   POST /v1/task/wait         {"children": "all" | [ids]}: a run that ends well suspends until these are done
//   POST /v1/task/questions    {"text": "…", "options": […], "default": …, "expires": "1h", "to": "spawner", "wait":
//   "2m"} GET  /v1/task/questions    what the task asked, and what it was asked as a spawner GET
//   /v1/task/questions/{id}?wait=25s   one of them, once it is closed or the time is over POST
//   /v1/task/questions/{id}/answer     {"value": …}: as the spawner that was asked POST /v1/tasks             children:
//   one task object, or {"tasks": […]}; GET /v1/tasks/{id} shows a descendant
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/clock.h"
#include "drover/task_queue.h"
#include "net/event_loop.h"
#include "net/http_server.h"
#include "worker/process_end.h"

namespace drover {

// What agents make a worker hold, in all.
inline constexpr std::size_t kDoorBytesMax = 64 * 1024 * 1024;

// Whether what a run says that it used is booked.
enum class UsageAtDoor : std::uint8_t { kRefused, kTaken };

// What a run says at its door of its end to come; the last word of each kind counts.
struct LastWill {
  std::optional<Suspend> wait{};
  std::optional<Failure> failure{};  // wins over everything
  // The questions that it asked, as far as it has heard of them.
  struct Asked {
    QuestionId id;
    bool is_open = true;
    std::optional<Millis> wait{};  // how long the process waits for the answer; set when it asks
  };
  std::vector<Asked> asked{};
  // Whether a run that ends well with an open question suspends. A program says so by its exit code instead.
  bool gives_way = false;
  std::optional<BudgetStop> stop{};  // it was told to stop; said once
  std::vector<Question> heard{};     // of its own, as it was told of them; said once

  // What was said later takes the place of what was said before.
  void add(const LastWill& later);
  void hear(const Question& question, std::optional<Millis> wait = {});
  [[nodiscard]] bool has_open_question() const;
};
// A program that asked, and will go on when it is run again, exits with this: EX_TEMPFAIL.
inline constexpr int kExitAwaitsAnswer = 75;
// How long a process waits for an answer before its task suspends, unless it says another time.
inline constexpr Millis kAnswerWait{120'000};
// How long one call at the door waits at most.
inline constexpr Millis kDoorWaitMax{25'000};
// How long a request at the door wants to wait; zero if it does not.
[[nodiscard]] Millis wait_of(const HttpRequest& request);

// What the door answers; what it hears of the run's end goes into `will`. Calls the queue; may take as long as it does.
[[nodiscard]] HttpResponse answer_door(TaskQueue& queue, const ClaimedTask& claimed, UsageAtDoor usage,
                                       const HttpRequest& request, LastWill& will);
// How a run ends that would have ended so without its will.
[[nodiscard]] End with_will(End end, const LastWill& will);

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

// `drover progress` and `drover fail` from inside a task.
[[nodiscard]] Status report_progress(const std::string& url, const Progress& progress);
[[nodiscard]] Status report_failure(const std::string& url, const Failure& failure);
// `drover enqueue --child`: all of them or none.
[[nodiscard]] Result<std::vector<Enqueued>> spawn_at_door(const std::string& url, std::span<const TaskSpec> children);
// `drover wait --children`.
[[nodiscard]] Status wait_for_children(const std::string& url, const Suspend& suspend);
// `drover ask`: the question as it stands; and the same once it is closed, or `wait` is over.
[[nodiscard]] Result<Question> ask_at_door(const std::string& url, const QuestionSpec& spec, Millis wait);
[[nodiscard]] Result<Question> question_at_door(const std::string& url, const QuestionId& id, Millis wait);
[[nodiscard]] Result<bool> may_suspend_at_door(const std::string& url);
// `drover parents`: each as one line of JSON, with its whole result; or the result of one.
[[nodiscard]] Result<std::vector<std::string>> parents_at_door(const std::string& url);
[[nodiscard]] Result<std::string> parent_result_at_door(const std::string& url, const std::string& id_or_ref);

}  // namespace drover
