// The provider's gate, written a second time from the events alone: nothing starts behind it while it is closed, then
// no more than the provider's answers allow, and only a run that started since the last cut may cut.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>

#include "drover/task.h"
#include "sim/life.h"

namespace drover::sim {

class ProviderWatch {
 public:
  // `type`: whose tasks pass the gate. `slack`: how far the clock may move between a decision and its commit.
  ProviderWatch(std::string type, Millis slack) : type_(std::move(type)), slack_(slack) {}

  // A worker says that the provider answered this run.
  void answered(const TaskId& task, int run) { answered_.insert({task, run}); }
  [[nodiscard]] std::optional<Wrong> take(const Event& event);

 private:
  struct Start {
    std::int64_t seq = 0;
    Time at{};
    int run = 0;
  };

  [[nodiscard]] std::optional<Wrong> take_cut(const Event& event);
  [[nodiscard]] std::optional<Wrong> take_claim(const Event& event);
  // How many of the runs since the gate opened may be live, at most.
  [[nodiscard]] int live_max() const;

  const std::string type_;
  const Millis slack_;
  std::map<TaskId, Start> live_;
  Time latest_{};  // of any event
  std::set<std::pair<TaskId, int>> answered_;
  std::set<std::pair<TaskId, int>> since_;  // runs that started since the gate opened
  bool is_held_ = false;
  std::int64_t cut_seq_ = 0;
  Time opens_at_{};
};

}  // namespace drover::sim
