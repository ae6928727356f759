// The one thing that a store brings to the conformance suite: how to open a fresh queue on it, with time in the test's
// hand.
#pragma once

#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "drover/task_queue.h"
#include "store/store.h"

namespace drover::test {

class QueueFixture {
 public:
  virtual ~QueueFixture() = default;

  [[nodiscard]] virtual TaskQueue& queue() = 0;
  // What the queue stands on, for damage that no verb does.
  [[nodiscard]] virtual Store& store() = 0;
  [[nodiscard]] virtual Time now() = 0;
  // Time passes. Nothing else happens.
  virtual void advance(Millis by) = 0;
  // Somebody sets the clock of the store's machine, forwards or backwards. No time passes.
  virtual void set_clock(Millis by) = 0;
  // Who is said to have done what a caller says `by` did: a server believes only the token.
  [[nodiscard]] virtual std::string signed_as(const std::string& by) { return by; }
  // The sweeper that keeps the statistics over time. Returns how many events it counted.
  virtual std::int64_t fold_history() = 0;
  // Every sweeper, once.
  virtual void sweep() = 0;
  // The sweeper that looks at the fleet's health, though it may not be time for it.
  virtual void watch_health() = 0;
  // As after a restart of the process: nothing is left but what the store kept.
  virtual void reopen() = 0;
};

struct QueueFixtureFactory {
  std::string name;
  std::unique_ptr<QueueFixture> (*open)();
};

// Every store that Drover has.
[[nodiscard]] const std::vector<QueueFixtureFactory>& queue_fixture_factories();

inline void PrintTo(const QueueFixtureFactory& factory, std::ostream* out) {
  *out << factory.name;
}

}  // namespace drover::test
