// HandlerRuns: runs tasks as calls of handlers on a pool of threads.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "drover/worker.h"
#include "worker/runs.h"

namespace drover {

class HandlerRun;

class HandlerRuns final : public Runs {
 public:
  using Handlers = std::map<std::string, Handler, std::less<>>;

  // `lease` is how long one lasts, `threads` how many handlers run at once.
  HandlerRuns(TaskQueue& queue, Handlers handlers, int threads, Millis lease, std::function<void()> on_ended);
  // Asks what still runs to stop, and waits for it.
  ~HandlerRuns() override;
  HandlerRuns(const HandlerRuns&) = delete;
  HandlerRuns& operator=(const HandlerRuns&) = delete;

  void start(ClaimedTask claimed, MonoTime expires_at) override;
  void lease_renewed(const Lease& lease, MonoTime expires_at) override;
  void stop(const Lease& lease, StopReason reason) override;
  [[nodiscard]] std::vector<RunEnded> take_ended() override;
  void give_back_waiting() override;

 private:
  void work();
  void wake_one();
  // Of a run that no thread has taken yet: it is not begun. False if it is none of these.
  [[nodiscard]] bool end_waiting(const Lease& lease, StopReason reason);
  void add_ended(const std::shared_ptr<HandlerRun>& run, RunEnded ended);  // with the lock held
  [[nodiscard]] std::shared_ptr<HandlerRun> find(const Lease& lease);
  [[nodiscard]] RunEnded call(HandlerRun& run) const;

  TaskQueue& queue_;
  const Handlers handlers_;
  const Millis lease_;
  const std::function<void()> on_ended_;

  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::shared_ptr<HandlerRun>> waiting_;  // until a thread is free
  std::vector<std::shared_ptr<HandlerRun>> runs_;    // waiting or being called
  std::vector<RunEnded> ended_;
  int idle_ = 0;         // threads that wait
  bool waking_ = false;  // one of them was told, and is on its way
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace drover
