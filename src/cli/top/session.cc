#include "cli/top/session.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/try.h"
#include "cli/display_text.h"
#include "core/gate_name.h"

namespace drover::cli {
namespace {

constexpr int kRunningShown = 200;
constexpr int kDeadLettersShown = 50;
constexpr int kQuestionsShown = 3;
constexpr std::size_t kHistory = 120;
constexpr std::size_t kLogLinesKept = 5'000;
constexpr int kLogPage = 500;

std::size_t index_of_panel(Panel panel) {
  return static_cast<std::size_t>(std::to_underlying(panel));
}

Status status_of(const auto& result) {
  if (!result) return std::unexpected(result.error());
  return {};
}

}  // namespace

TopSession::TopSession(TaskQueue& queue, std::string store, std::string by) : queue_(queue), by_(std::move(by)) {
  data_.store = std::move(store);
}

Status TopSession::look() {
  TopData next{.store = data_.store, .completed = data_.completed};
  if (Status status = read(next); !status) {
    data_.failure = to_string(status.error());
    return status;
  }
  next.completed.push_back(next.stats.rates.completed);
  if (next.completed.size() > kHistory) next.completed.pop_front();
  data_ = std::move(next);
  if (log_) read_log();
  return {};
}

Status TopSession::read(TopData& data) {
  data.stats = TRY(queue_.stats());
  data.queues = TRY(queue_.queues());
  auto running = TRY(queue_.list({.states = {TaskState::kRunning}}, kRunningShown, std::nullopt));
  data.running = std::move(running.tasks);
  auto failed = TRY(queue_.list({.states = {TaskState::kFailed}}, kDeadLettersShown, std::nullopt));
  data.dead_letters = std::move(failed.tasks);
  data.workers = TRY(queue_.workers());
  data.gates = TRY(queue_.gates());
  if (data.stats.questions.in(QuestionState::kOpen) == 0) return {};
  auto open = TRY(queue_.questions({.state = QuestionState::kOpen}, kQuestionsShown, std::nullopt));
  data.questions = std::move(open.questions);
  return {};
}

// ---- keys

bool TopSession::press(const Key& key, const Look& look) {
  if (key.kind == KeyKind::kHangup) return false;
  view_.said.reset();
  if (question_) {
    press_in_question(key);
    return true;
  }
  if (filtering_) {
    press_in_filter(key);
    return true;
  }
  switch (key.kind) {
    case KeyKind::kText:
      return press_letter(key.text, look);
    case KeyKind::kUp:
      move(-1, look);
      break;
    case KeyKind::kDown:
      move(1, look);
      break;
    case KeyKind::kTab:
      change_panel(1);
      break;
    case KeyKind::kBackTab:
      change_panel(-1);
      break;
    case KeyKind::kEnter:
      open_log(look);
      break;
    case KeyKind::kEscape:
      view_.help = false;
      view_.filter.clear();
      log_.reset();
      break;
    case KeyKind::kBackspace:
    case KeyKind::kNone:
    case KeyKind::kHangup:
      break;
  }
  return true;
}

bool TopSession::press_letter(const std::string& letter, const Look& look) {
  if (letter == "q" && (log_ || view_.help)) {
    log_.reset();
    view_.help = false;
    return true;
  }
  if (letter == "q") return false;
  if (log_) return true;
  if (letter == "j") move(1, look);
  if (letter == "k") move(-1, look);
  if (letter == "?") view_.help = !view_.help;
  if (letter == "l") open_log(look);
  if (letter == "p") pause_or_resume(look);
  if (letter == "c") ask_to_cancel(look);
  if (letter == "r") ask_to_retry(look);
  if (letter == "/") filtering_ = true;
  if (letter == "s") {
    int& sort = view_.sort[index_of_panel(view_.panel)];
    sort = (sort + 1) % sorts_of(view_.panel);
  }
  return true;
}

void TopSession::press_in_filter(const Key& key) {
  if (key.kind == KeyKind::kText) view_.filter += key.text;
  if (key.kind == KeyKind::kBackspace) {
    while (!view_.filter.empty() && (static_cast<unsigned char>(view_.filter.back()) & 0xc0) == 0x80)
      view_.filter.pop_back();
    if (!view_.filter.empty()) view_.filter.pop_back();
  }
  if (key.kind == KeyKind::kEscape) view_.filter.clear();
  filtering_ = key.kind != KeyKind::kEnter && key.kind != KeyKind::kEscape;
  view_.selected = {};
}

void TopSession::press_in_question(const Key& key) {
  if (!question_) return;
  const Question question = *std::move(question_);
  question_.reset();
  if (key.kind == KeyKind::kText && key.text == "y") {
    question.yes();
  } else {
    view_.said = "nothing was changed";
  }
}

void TopSession::change_panel(int by) {
  if (log_) return;
  view_.panel = static_cast<Panel>((std::to_underlying(view_.panel) + by + kPanelCount) % kPanelCount);
}

void TopSession::move(int by, const Look& look) {
  const std::size_t rows = make_panel(data_, view_, view_.panel, look).rows.size();
  std::size_t& selected = view_.selected[index_of_panel(view_.panel)];
  if (rows == 0) return;
  selected = std::min(selected, rows - 1);
  if (by < 0 && selected > 0) --selected;
  if (by > 0 && selected + 1 < rows) ++selected;
}

std::optional<std::string> TopSession::chosen_id(const Look& look) const {
  const TopPanel panel = make_panel(data_, view_, view_.panel, look);
  if (panel.rows.empty()) return std::nullopt;
  return panel.rows[std::min(view_.selected[index_of_panel(view_.panel)], panel.rows.size() - 1)].id;
}

void TopSession::say(const Status& status, std::string done) {
  view_.said = status ? std::move(done) : to_string(status.error());
}

void TopSession::pause_or_resume(const Look& look) {
  const auto id = chosen_id(look);
  if (!id || (view_.panel != Panel::kQueues && view_.panel != Panel::kGates)) {
    view_.said = "p works on queues and gates";
    return;
  }
  const std::string gate = view_.panel == Panel::kQueues ? gate_name(GateKind::kQueue, *id) : *id;
  const auto known = std::ranges::find(data_.gates, gate, &GateStatus::name);
  const bool closed = known != data_.gates.end() && known->closed_until;
  GateOrder order{.gate = gate, .what = GateOrder::Close{}, .why = "drover top", .by = by_};
  if (closed) order.what = GateOrder::Open{};
  say(status_of(queue_.set_gate(order)),
      fmt::format("{} {}", gate, closed ? "is open again" : "is closed until opened"));
  look_again_ = true;
}

void TopSession::ask_to_cancel(const Look& look) {
  const auto id = chosen_id(look);
  if (!id || view_.panel != Panel::kRunning) {
    view_.said = "c works on running tasks";
    return;
  }
  question_ = Question{.text = fmt::format("cancel task {}? y/n", *id), .yes = [this, id = *id] {
                         const auto task = TaskId::parse(id);
                         if (task)
                           say(status_of(queue_.cancel(*task, "drover top by " + by_)), "asked the task to stop");
                         look_again_ = true;
                       }};
}

void TopSession::ask_to_retry(const Look& look) {
  const auto id = chosen_id(look);
  if (!id || view_.panel != Panel::kDeadLetters) {
    view_.said = "r works on dead letters";
    return;
  }
  question_ = Question{.text = fmt::format("retry task {}? y/n", *id), .yes = [this, id = *id] {
                         const auto task = TaskId::parse(id);
                         if (task) say(status_of(queue_.retry(*task)), "the task will run again");
                         look_again_ = true;
                       }};
}

// ---- the log of a task

void TopSession::open_log(const Look& look) {
  if (log_) return;
  const auto id = chosen_id(look);
  const auto task = id ? TaskId::parse(*id) : std::nullopt;
  if (!task) {
    view_.said = "choose a running task or a dead letter";
    return;
  }
  log_ = LogView{.task = *task};
  read_log();
}

void TopSession::read_log() {
  if (!log_) return;
  LogView& log = *log_;
  for (std::size_t read = kLogPage; read == kLogPage;) {
    const auto page = queue_.log(log.task, log.after, kLogPage);
    if (!page) return say(std::unexpected(page.error()), "");
    for (const LogRecord& record : page->records) {
      log.after = record.seq;
      log.rest += record.text;
    }
    read = page->records.size();
    for (std::size_t end = log.rest.find('\n'); end != std::string::npos; end = log.rest.find('\n')) {
      log.lines.push_back(one_line(log.rest.substr(0, end)));
      log.rest.erase(0, end + 1);
      if (log.lines.size() > kLogLinesKept) log.lines.pop_front();
    }
  }
}

std::vector<std::string> TopSession::lines(const Look& look, int height) {
  if (question_) {
    view_.prompt = question_->text;
  } else if (filtering_) {
    view_.prompt = "/" + one_line(view_.filter);
  } else {
    view_.prompt.reset();
  }
  if (!log_) return draw(data_, view_, look, height);
  const auto width = static_cast<std::size_t>(std::max(1, look.width));
  std::vector<std::string> shown{cut_to_width(fmt::format("log of task {}  (q back)", log_->task.to_string()), width)};
  const std::size_t fit = static_cast<std::size_t>(std::max(2, height)) - 1;
  std::deque<std::string> all = log_->lines;
  if (!log_->rest.empty()) all.push_back(one_line(log_->rest));
  for (std::size_t i = all.size() > fit ? all.size() - fit : 0; i < all.size(); ++i)
    shown.push_back(cut_to_width(all[i], width));
  shown.resize(fit + 1);
  return shown;
}

}  // namespace drover::cli
