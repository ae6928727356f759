// What a run asks, and what comes of it, as lines of its transcript. Each is told once.
#pragma once

#include <map>
#include <span>
#include <string>

#include "drover/question.h"
#include "drover/task_queue.h"

namespace drover {

class QuestionLines {
 public:
  // The lines that are new, each with its end: the question, once it is closed also how. Empty: all was told.
  [[nodiscard]] std::string hear(const Question& question);
  // What was closed since the latest run ended: this run is told of it when it starts.
  [[nodiscard]] std::string hear_at_start(const ClaimedTask& claimed);

 private:
  std::map<QuestionId, QuestionState> told_;  // as what each was told
};

}  // namespace drover
