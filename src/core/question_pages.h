// Pages of questions, the same for every store: which of those that are read a filter wants, and where the next page
// begins.
#pragma once

#include <optional>
#include <vector>

#include "core/question.h"

namespace drover {

inline constexpr int kQuestionPiece = 200;           // that are read at once
inline constexpr int kQuestionsLookedAtMax = 2'000;  // for one page

[[nodiscard]] bool admits(const QuestionFilter& filter, const Question& question);

class QuestionPager {
 public:
  // The newest first, if `before` is unset.
  QuestionPager(QuestionFilter filter, int limit, const std::optional<QuestionId>& before);

  [[nodiscard]] bool wants_more() const { return !is_done_; }
  [[nodiscard]] const QuestionId& before() const { return before_; }
  // The next kQuestionPiece, newest first; fewer: there are no others.
  void add(std::vector<QuestionRecord> piece);
  [[nodiscard]] QuestionPage take() &&;

 private:
  QuestionFilter filter_;
  std::size_t limit_;
  QuestionId before_;
  QuestionPage page_;
  int looked_at_ = 0;
  bool is_done_ = false;
};

}  // namespace drover
