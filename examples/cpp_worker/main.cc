// A worker in C++: enqueues three greetings, handles them in this process, prints what came of them.
//
//   build/release/cpp_worker sqlite:.drover/drover.db
#include <cstdio>
#include <string>
#include <vector>

#include "drover/open.h"
#include "drover/worker.h"

namespace {

// The payload is JSON text, and so is the result.
drover::HandlerResult greet(drover::TaskContext& context) {
  const std::string name = context.task().payload.value_or("null");
  if (name.size() < 2 || name.front() != '"') {
    return std::unexpected(
        drover::Failure{.error_class = drover::ErrorClass::kInvalid, .message = "a name must be a string"});
  }
  if (auto told = context.progress(50, "thinking of something nice"); !told) return "null";  // not ours any more
  return "\"Hello, " + name.substr(1);
}

int give_up(const drover::Error& error) {
  std::fprintf(stderr, "cpp_worker: %s\n", drover::to_string(error).c_str());
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  const auto queue = drover::open_task_queue(argc > 1 ? argv[1] : "memory:", drover::Upkeep::kBackground);
  if (!queue) return give_up(queue.error());

  const std::vector<drover::TaskSpec> specs{{.type = "greet", .payload = "\"Ada\""},
                                            {.type = "greet", .payload = "\"Grace\""},
                                            {.type = "greet", .payload = "42"}};
  const auto enqueued = (*queue)->enqueue(specs);
  if (!enqueued) return give_up(enqueued.error());

  drover::Worker worker(**queue, {.concurrency = 2, .until = drover::RunUntil::kEmpty});
  worker.handle("greet", greet);
  const auto report = worker.run();
  if (!report) return give_up(report.error());

  for (const drover::Enqueued& one : *enqueued) {
    const auto task = (*queue)->get(one.id);
    if (!task) return give_up(task.error());
    std::printf("%s\n", task->result ? task->result->c_str() : task->error->message.c_str());
  }
  std::printf("%lld completed, %lld failed\n", static_cast<long long>(report->completed),
              static_cast<long long>(report->failed));
}
