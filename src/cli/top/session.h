// One sitting at drover top: what the keys do.
#pragma once

#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/top/picture.h"
#include "cli/top/screen.h"
#include "drover/task_queue.h"

namespace drover::cli {

class TopSession {
 public:
  // The queue outlives it. `by` is who pauses and cancels.
  TopSession(TaskQueue& queue, std::string store, std::string by);

  // Looks at the queue. What cannot be read leaves the picture as it was, with the reason in it.
  Status look();
  // False: it is over.
  [[nodiscard]] bool press(const Key& key, const Look& look);
  [[nodiscard]] std::vector<std::string> lines(const Look& look, int height);

  [[nodiscard]] const TopData& data() const { return data_; }
  // Whether a key changed something since it was last asked.
  [[nodiscard]] bool wants_look() { return std::exchange(look_again_, false); }

 private:
  // What stands in the last line and takes the keys until it is answered.
  struct Question {
    std::string text;
    std::function<void()> yes;
  };
  struct LogView {
    TaskId task;
    std::int64_t after = 0;
    std::deque<std::string> lines;
    std::string rest;  // a line that has not ended
  };

  [[nodiscard]] Status read(TopData& data);
  [[nodiscard]] std::optional<std::string> chosen_id(const Look& look) const;
  void read_log();
  void press_in_filter(const Key& key);
  void press_in_question(const Key& key);
  [[nodiscard]] bool press_letter(const std::string& letter, const Look& look);
  void change_panel(int by);
  void move(int by, const Look& look);
  void open_log(const Look& look);
  void pause_or_resume(const Look& look);
  void ask_to_cancel(const Look& look);
  void ask_to_retry(const Look& look);
  void say(const Status& status, std::string done);

  TaskQueue& queue_;
  const std::string by_;
  TopData data_;
  TopView view_;
  bool filtering_ = false;
  bool look_again_ = false;  // something was changed
  std::optional<Question> question_;
  std::optional<LogView> log_;
};

}  // namespace drover::cli
