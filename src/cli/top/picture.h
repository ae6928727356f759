// What drover top shows: data in, lines out. No terminal and no queue here.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "cli/output.h"
#include "drover/task_queue.h"

namespace drover::cli {

enum class Panel : std::uint8_t { kQueues, kRunning, kWorkers, kGates, kAlerts, kDeadLetters };
inline constexpr int kPanelCount = 6;

// What one look at the queue brought.
struct TopData {
  std::string store;
  Stats stats;
  std::vector<QueueStatus> queues;
  std::vector<Task> running;
  std::vector<Task> dead_letters;
  std::vector<WorkerInfo> workers;
  std::vector<GateStatus> gates;
  std::vector<Question> questions;     // that are open, the newest first; a few
  std::deque<std::int64_t> completed;  // in the window, look by look, for the sparkline
  std::optional<std::string> failure;  // why there is nothing newer
};

// What the person at the keys has chosen.
struct TopView {
  Panel panel = Panel::kQueues;
  std::array<int, kPanelCount> sort{};
  std::array<std::size_t, kPanelCount> selected{};
  std::string filter;
  bool help = false;
  std::optional<std::string> prompt;  // stands in the last line: a question, or what is being typed
  std::optional<std::string> said;    // what the last key did
};

// One line of a panel. `id` is what keys act on: a queue, a task, a worker, a gate, a subject.
struct TopRow {
  std::string id;
  std::string text;
};
struct TopPanel {
  std::string title;
  std::string header;
  std::vector<TopRow> rows;
};

// The rows that the filter leaves, in the order that was chosen; `look` gives the width.
[[nodiscard]] TopPanel make_panel(const TopData& data, const TopView& view, Panel panel, const Look& look);
// How many ways there are to sort it.
[[nodiscard]] int sorts_of(Panel panel);

// A whole screen: exactly `height` lines, each at most as wide as the look.
[[nodiscard]] std::vector<std::string> draw(const TopData& data, const TopView& view, const Look& look, int height);
// As long as it takes, without marks of where the keys are.
[[nodiscard]] std::string draw_once(const TopData& data, const Look& look);

// A bar of that many columns: "█████░░░░░".
[[nodiscard]] std::string progress_bar(int percent, int columns);
// One column a value, the highest fills it.
[[nodiscard]] std::string sparkline(const std::deque<std::int64_t>& values, std::size_t columns);

}  // namespace drover::cli
