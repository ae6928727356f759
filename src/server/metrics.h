// What Prometheus reads: numbers of the store, of the server and of its process.
//
// Counters of events begin when the server starts. They are brought up to date by a scrape, which counts everything
// that was committed before it. metrics.cc and event_counters.cc alone know prometheus-cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "drover/task_queue.h"

namespace drover::server {

struct Route;

// What the server has to do at this moment.
struct Load {
  std::size_t connections = 0;
  std::size_t waiting_calls = 0;  // long polls
  std::size_t running_calls = 0;  // on a thread, or waiting for one
  std::size_t watchers = 0;       // of live events
  std::size_t held_bytes = 0;     // for clients
};

// What became of the records of the audit log, since the server started.
struct AuditTotals {
  std::uint64_t written = 0;
  std::uint64_t failures = 0;  // to write; they are repeated
  std::uint64_t dropped = 0;
};

class Metrics {
 public:
  Metrics();
  ~Metrics();
  Metrics(const Metrics&) = delete;
  Metrics& operator=(const Metrics&) = delete;

  // Events up to this one are not counted.
  void begin_after(std::int64_t seq);
  // A request was answered; `route` is null if it was for none. One thread only.
  void count_request(const Route* route, int status, Millis took);
  void set_load(const Load& load);
  void set_audit(const AuditTotals& totals);

  // Everything in Prometheus' text format; from any thread. A store that does not answer is told by drover_store_up,
  // a caller who may not see all of it gets the error.
  [[nodiscard]] Result<std::string> scrape(TaskQueue& queue);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace drover::server
