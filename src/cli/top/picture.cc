#include "cli/top/picture.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <numeric>

#include "cli/display_text.h"
#include "cli/gate_view.h"
#include "cli/stats_view.h"
#include "cli/table.h"
#include "cli/task_view.h"
#include "core/question.h"

namespace drover::cli {
namespace {

constexpr int kBarColumns = 10;
constexpr std::size_t kSparkColumns = 30;
constexpr std::size_t kRowsWhenNotChosen = 3;  // of a panel that the keys are not in
constexpr std::array<std::string_view, 8> kLevels{"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};

constexpr std::array<std::string_view, kPanelCount> kTitles{"QUEUES", "RUNNING", "WORKERS",
                                                            "GATES",  "ALERTS",  "DEAD LETTERS"};

std::size_t index_of(Panel panel) {
  return static_cast<std::size_t>(std::to_underlying(panel));
}

// ---- one table a panel

// Rows with their ids, before they are laid out.
struct Rows {
  Table table;
  std::vector<std::string> ids;
};

std::int64_t waiting_in(const QueueStats& queue) {
  return queue.tasks[static_cast<std::size_t>(TaskState::kPending)] +
         queue.tasks[static_cast<std::size_t>(TaskState::kStalled)];
}
std::int64_t running_in(const QueueStats& queue) {
  return queue.tasks[static_cast<std::size_t>(TaskState::kRunning)];
}

int percent_of(const Task& task) {
  return task.progress ? task.progress->percent : -1;
}

template <class T>
using Order = bool (*)(const T&, const T&);

template <class T, std::size_t N>
std::vector<T> sorted(std::vector<T> items, const std::array<Order<T>, N>& orders, int chosen) {
  const Order<T> before = orders[static_cast<std::size_t>(chosen) % N];
  std::vector<std::size_t> order(items.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  // Those that are equal stay in their order.
  std::ranges::sort(order, [&](std::size_t a, std::size_t b) {
    if (before(items[a], items[b])) return true;
    return a < b && !before(items[b], items[a]);
  });
  std::vector<T> in_order;
  in_order.reserve(items.size());
  for (const std::size_t i : order) in_order.push_back(std::move(items[i]));
  return in_order;
}

constexpr std::array<Order<QueueStats>, 3> kQueueOrders{
    [](const QueueStats& a, const QueueStats& b) { return a.name < b.name; },
    [](const QueueStats& a, const QueueStats& b) { return waiting_in(a) > waiting_in(b); },
    [](const QueueStats& a, const QueueStats& b) { return running_in(a) > running_in(b); },
};
constexpr std::array<Order<Task>, 3> kTaskOrders{
    [](const Task& a, const Task& b) { return a.started_at < b.started_at; },
    [](const Task& a, const Task& b) { return a.type < b.type; },
    [](const Task& a, const Task& b) { return percent_of(a) > percent_of(b); },
};
constexpr std::array<Order<WorkerInfo>, 2> kWorkerOrders{
    [](const WorkerInfo& a, const WorkerInfo& b) { return a.id < b.id; },
    [](const WorkerInfo& a, const WorkerInfo& b) { return a.running > b.running; },
};
constexpr std::array<Order<GateStatus>, 2> kGateOrders{
    [](const GateStatus& a, const GateStatus& b) { return a.name < b.name; },
    [](const GateStatus& a, const GateStatus& b) { return a.waiting_lanes > b.waiting_lanes; },
};

std::string state_of_queue(const TopData& data, const std::string& name) {
  const auto queue = std::ranges::find(data.queues, name, &QueueStatus::name);
  if (queue == data.queues.end()) return "open";
  const std::optional<GateStatus>& gate = queue->gate;
  if (gate && gate->closed_until) return "paused";
  return std::ranges::any_of(queue->held, &HeldTasks::shut) ? "held" : "open";
}

std::string age(const std::optional<Time>& since, Time now) {
  return since ? coarse_duration(std::max(Millis{0}, now - *since)) : "";
}

Rows queue_rows(const TopData& data, int sort) {
  Rows rows{Table({{"QUEUE"},
                   {"STATE"},
                   {"WAITING"},
                   {"OLDEST"},
                   {"RUNNING"},
                   {"FAILED"},
                   {"WORKERS"},
                   {"IN/MIN"},
                   {"OUT/MIN"},
                   {"WAIT P50/P95", Fit::kElastic},
                   {"RUN P50/P95", Fit::kElastic}}),
            {}};
  for (const QueueStats& queue : sorted(data.stats.queues, kQueueOrders, sort)) {
    const std::string state = state_of_queue(data, queue.name);
    rows.ids.push_back(queue.name);
    rows.table.add(
        {queue.name, Cell(state, state == "open" ? Paint::kGreen : Paint::kRed), std::to_string(waiting_in(queue)),
         age(queue.waiting_since, data.stats.at), std::to_string(running_in(queue)),
         std::to_string(queue.tasks[static_cast<std::size_t>(TaskState::kFailed)]), std::to_string(queue.workers),
         per_minute(queue.rates.enqueued, data.stats.window), per_minute(queue.rates.completed, data.stats.window),
         durations_text(queue.waits), durations_text(queue.runs)});
  }
  return rows;
}

Rows running_rows(const TopData& data, int sort) {
  Rows rows{
      Table({{"TASK"}, {"TYPE", Fit::kElastic}, {"OWNER", Fit::kElastic}, {"AGE"}, {"PROGRESS"}, {"WHAT", Fit::kRest}}),
      {}};
  for (const Task& task : sorted(data.running, kTaskOrders, sort)) {
    const std::string id = task.id.to_string();
    rows.ids.push_back(id);
    const std::string progress =
        task.progress
            ? fmt::format("{} {:>3}%", progress_bar(task.progress->percent, kBarColumns), task.progress->percent)
            : "";
    rows.table.add({id, task.type, task.owner, age(task.started_at, data.stats.at), progress,
                    task.progress ? task.progress->message : ""});
  }
  return rows;
}

Rows worker_rows(const TopData& data, int sort) {
  const std::vector<WorkerInfo> workers = sorted(data.workers, kWorkerOrders, sort);
  Rows rows{worker_table(workers, data.stats.at), {}};
  for (const WorkerInfo& worker : workers) rows.ids.push_back(worker.id);
  return rows;
}

Rows gate_rows(const TopData& data, int sort) {
  const std::vector<GateStatus> gates = sorted(data.gates, kGateOrders, sort);
  Rows rows{gate_table(gates, data.stats.at), {}};
  for (const GateStatus& gate : gates) rows.ids.push_back(gate.name);
  return rows;
}

Rows alert_rows(const TopData& data) {
  Rows rows{alert_table(data.stats.alerts, data.stats.at), {}};
  for (const Alert& alert : data.stats.alerts) rows.ids.push_back(alert.subject);
  return rows;
}

Rows dead_letter_rows(const TopData& data) {
  Rows rows{Table({{"TASK"}, {"TYPE", Fit::kElastic}, {"AGO"}, {"ERROR", Fit::kRest}}), {}};
  for (const Task& task : data.dead_letters) {
    rows.ids.push_back(task.id.to_string());
    const std::string error =
        task.error ? fmt::format("{}: {}", name_of(task.error->error_class), task.error->message) : "";
    rows.table.add({task.id.to_string(), task.type, age(task.finished_at, data.stats.at), error});
  }
  return rows;
}

Rows rows_of(const TopData& data, Panel panel, int sort) {
  switch (panel) {
    case Panel::kQueues:
      return queue_rows(data, sort);
    case Panel::kRunning:
      return running_rows(data, sort);
    case Panel::kWorkers:
      return worker_rows(data, sort);
    case Panel::kGates:
      return gate_rows(data, sort);
    case Panel::kAlerts:
      return alert_rows(data);
    case Panel::kDeadLetters:
      return dead_letter_rows(data);
  }
  std::unreachable();
}

std::vector<std::string> split_lines(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t from = 0; from < text.size();) {
    const std::size_t end = std::min(text.find('\n', from), text.size());
    lines.push_back(text.substr(from, end - from));
    from = end + 1;
  }
  return lines;
}

// ---- the whole

std::string without_paint(std::string_view text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\x1b') {
      while (i < text.size() && text[i] != 'm') ++i;
    } else {
      plain += text[i];
    }
  }
  return plain;
}

// Cut to so many columns; paint takes none and stays, so that it also ends.
std::string cut_painted(std::string_view text, std::size_t width) {
  std::string cut;
  std::size_t columns = 0;
  while (!text.empty()) {
    const bool paint = text.front() == '\x1b';
    std::size_t length = paint ? std::min(text.find('m'), text.size() - 1) + 1 : 1;
    while (!paint && length < text.size() && (static_cast<unsigned char>(text[length]) & 0xc0) == 0x80) ++length;
    const std::size_t takes = paint ? 0 : display_width(text.substr(0, length));
    columns += takes;
    if (paint || columns <= width) cut += text.substr(0, length);
    text.remove_prefix(length);
  }
  return cut;
}

std::vector<std::string> header_lines(const TopData& data, const Look& look) {
  std::vector<std::string> lines;
  lines.push_back(fmt::format("drover top  {}  {}", data.store, format_time(data.stats.at)));
  if (data.failure) lines.back() += "  " + painted("no news: " + one_line(*data.failure), Paint::kRed, look);
  for (std::string& line : split_lines(stats_summary(data.stats))) lines.push_back(std::move(line));
  for (const Question& question : data.questions) {
    lines.push_back("  " + one_line(in_words(question, data.stats.at)));
  }
  lines.push_back(fmt::format("completed  {}  {}/min", sparkline(data.completed, kSparkColumns),
                              per_minute(data.stats.rates.completed, data.stats.window)));
  return lines;
}

const std::vector<std::string>& help_lines() {
  static const std::vector<std::string> kLines{
      "tab, shift-tab   next panel, previous panel",
      "arrows, j k      next line, previous line",
      "s                sort the panel by its next column",
      "/                show only lines that contain what you type; esc clears the filter",
      "p                pause or resume the queue; close or open the gate",
      "c                cancel the task; asks first",
      "enter, l         the task's log, live; q or esc goes back",
      "r                retry the dead letter; asks first",
      "q                quit",
  };
  return kLines;
}

std::string title_line(const TopPanel& panel, const TopView& view, bool chosen, const Look& look) {
  std::string title = fmt::format("{} {}", panel.title, panel.rows.size());
  if (!view.filter.empty()) title += fmt::format("  /{}", one_line(view.filter));
  return painted(chosen ? "▶ " + title : "  " + title, chosen ? Paint::kCyan : Paint::kBold, look);
}

// Which rows of so many are shown when only so many fit, so that the chosen one is among them.
std::size_t first_shown(std::size_t chosen, std::size_t rows, std::size_t fit) {
  if (rows <= fit || chosen < fit) return 0;
  return std::min(chosen - fit + 1, rows - fit);
}

void add_panel(std::vector<std::string>& lines, const TopPanel& panel, const TopView& view, Panel which,
               std::size_t fit, const Look& look) {
  const bool chosen = which == view.panel;
  lines.push_back(title_line(panel, view, chosen, look));
  if (panel.rows.empty() || fit == 0) return;
  lines.push_back(panel.header);
  const std::size_t selected = std::min(view.selected[index_of(which)], panel.rows.size() - 1);
  const std::size_t first = chosen ? first_shown(selected, panel.rows.size(), fit) : 0;
  for (std::size_t i = first; i < std::min(panel.rows.size(), first + fit); ++i) {
    const std::string& text = panel.rows[i].text;
    lines.push_back(chosen && i == selected ? fmt::format("\x1b[7m{}\x1b[0m", without_paint(text)) : text);
  }
}

// What is left for the rows of the chosen panel when every other one has its few.
std::size_t rows_for_chosen(const std::vector<TopPanel>& panels, std::size_t chosen, std::size_t left) {
  std::size_t others = 0;
  for (std::size_t i = 0; i < panels.size(); ++i) {
    const std::size_t rows = i == chosen ? 0 : std::min(panels[i].rows.size(), kRowsWhenNotChosen);
    others += 1 + (rows > 0 ? rows + 1 : 0);
  }
  return left > others + 1 ? left - others - 1 : 1;
}

std::string last_line(const TopView& view, const Look& look) {
  if (view.prompt) return *view.prompt;
  if (view.said) return painted(one_line(*view.said), Paint::kYellow, look);
  return painted("tab panel  s sort  / filter  p pause  c cancel  l log  r retry  ? help  q quit", Paint::kDim, look);
}

}  // namespace

std::string progress_bar(int percent, int columns) {
  std::string bar;
  for (int i = 0; i < columns; ++i) bar += i * 100 < percent * columns ? "█" : "░";
  return bar;
}

std::string sparkline(const std::deque<std::int64_t>& values, std::size_t columns) {
  std::int64_t highest = 1;
  for (const std::int64_t value : values) highest = std::max(highest, value);
  const std::size_t shown = std::min(values.size(), columns);
  std::string line;
  for (std::size_t i = values.size() - shown; i < values.size(); ++i) {
    line += kLevels[static_cast<std::size_t>(values[i] * static_cast<std::int64_t>(kLevels.size() - 1) / highest)];
  }
  return line;
}

int sorts_of(Panel panel) {
  switch (panel) {
    case Panel::kQueues:
      return static_cast<int>(kQueueOrders.size());
    case Panel::kRunning:
      return static_cast<int>(kTaskOrders.size());
    case Panel::kWorkers:
      return static_cast<int>(kWorkerOrders.size());
    case Panel::kGates:
      return static_cast<int>(kGateOrders.size());
    case Panel::kAlerts:
    case Panel::kDeadLetters:
      return 1;
  }
  std::unreachable();
}

TopPanel make_panel(const TopData& data, const TopView& view, Panel panel, const Look& look) {
  const Rows rows = rows_of(data, panel, view.sort[index_of(panel)]);
  TopPanel made{.title = std::string(kTitles[index_of(panel)]), .header = {}, .rows = {}};
  if (rows.ids.empty()) return made;
  const std::vector<std::string> lines = split_lines(rows.table.render(look));
  made.header = lines.front();
  for (std::size_t i = 0; i < rows.ids.size() && i + 1 < lines.size(); ++i) {
    const bool matches = view.filter.empty() || without_paint(lines[i + 1]).contains(view.filter);
    if (matches) made.rows.push_back({rows.ids[i], lines[i + 1]});
  }
  return made;
}

std::vector<std::string> draw(const TopData& data, const TopView& view, const Look& look, int height) {
  std::vector<std::string> lines = header_lines(data, look);
  if (view.help) {
    std::ranges::copy(help_lines(), std::back_inserter(lines));
  } else {
    std::vector<TopPanel> panels;
    for (int i = 0; i < kPanelCount; ++i) panels.push_back(make_panel(data, view, static_cast<Panel>(i), look));
    const std::size_t taken = lines.size() + 1;
    const std::size_t left = std::cmp_greater(height, taken) ? static_cast<std::size_t>(height) - taken : 0;
    const std::size_t fit = rows_for_chosen(panels, index_of(view.panel), left);
    for (std::size_t i = 0; i < panels.size(); ++i) {
      const auto which = static_cast<Panel>(i);
      add_panel(lines, panels[i], view, which, which == view.panel ? fit : kRowsWhenNotChosen, look);
    }
  }
  const std::size_t rows = static_cast<std::size_t>(std::max(1, height));
  lines.resize(rows - 1);
  lines.push_back(last_line(view, look));
  for (std::string& line : lines) line = cut_painted(line, static_cast<std::size_t>(look.width));
  return lines;
}

std::string draw_once(const TopData& data, const Look& look) {
  std::string text;
  for (const std::string& line : header_lines(data, look)) text += line + "\n";
  for (int i = 0; i < kPanelCount; ++i) {
    const TopPanel panel = make_panel(data, {}, static_cast<Panel>(i), look);
    if (panel.rows.empty()) continue;
    text += fmt::format("\n{}\n{}\n", panel.title, panel.header);
    for (const TopRow& row : panel.rows) text += row.text + "\n";
  }
  return text;
}

}  // namespace drover::cli
