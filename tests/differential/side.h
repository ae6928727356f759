// One of the two stores that the differential test holds against each other, and what it says, as text.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/rng.h"
#include "core/task_json.h"
#include "differential/differential.h"
#include "engine/engine.h"
#include "engine/sweepers.h"

namespace drover::test {

// One store with its engine. Ids and jitter come from a seeded source, so that both sides make the same.
class Side {
 public:
  Side(const OpenStore& open, Clock& clock, std::uint64_t seed)
      : store_(open(clock)), rng_(seed), engine_(*store_, rng_), sweepers_(engine_) {}

  Engine& engine() { return engine_; }
  Store& store() { return *store_; }
  Sweepers& sweepers() { return sweepers_; }

 private:
  std::unique_ptr<Store> store_;
  SeededRng rng_;
  Engine engine_;
  Sweepers sweepers_;
};

// ---- answers as text. Messages may be worded by the store; codes may not.

template <class T, class Format>
std::string text_of(const Result<T>& answer, Format format) {
  if (!answer) return fmt::format("error {}", error_info(answer.error().code).name);
  return format(*answer);
}

std::string text_of(const Status& status);
std::string text_of(const Enqueued& enqueued);
std::string text_of(const GateStatus& gate);
std::string text_of(const QueueStatus& queue);
std::string text_of(const Explanation& explanation);

template <class T>
std::string text_of_all(const std::vector<T>& items) {
  std::string text;
  for (const T& item : items) text += text_of(item) + "\n";
  return text;
}

template <class T>
std::string json_lines(const std::vector<T>& items) {
  std::string text;
  for (const T& item : items) text += to_json(item) + "\n";
  return text;
}

// Everything that can be seen of it. `events_after` moves on.
std::string dump(Side& side, std::int64_t& events_after);
// What is spent of every budget, and set aside.
std::string budgets_of(Side& side);

}  // namespace drover::test
