#include "core/question_pages.h"

#include <utility>

namespace drover {
namespace {

constexpr TaskId::Bytes kLastBytes = [] {
  TaskId::Bytes bytes{};
  bytes.fill(0xff);
  return bytes;
}();

}  // namespace

bool admits(const QuestionFilter& filter, const Question& question) {
  return (!filter.state || *filter.state == question.state) && (!filter.owner || *filter.owner == question.owner) &&
         (!filter.task_id || filter.task_id == question.task_id) && (!filter.to || *filter.to == question.to) &&
         (!filter.spawner || filter.spawner == question.spawner);
}

QuestionPager::QuestionPager(QuestionFilter filter, int limit, const std::optional<QuestionId>& before)
    : filter_(std::move(filter)),
      limit_(static_cast<std::size_t>(limit)),
      before_(before.value_or(QuestionId(kLastBytes))) {}

void QuestionPager::add(std::vector<QuestionRecord> piece) {
  const bool is_last = piece.size() < static_cast<std::size_t>(kQuestionPiece);
  for (QuestionRecord& record : piece) {
    if (page_.questions.size() == limit_) {
      page_.cursor = before_.to_string();
      is_done_ = true;
      return;
    }
    before_ = record.question.id;
    ++looked_at_;
    if (admits(filter_, record.question)) page_.questions.push_back(std::move(record.question));
  }
  if (is_last) {
    is_done_ = true;
  } else if (looked_at_ >= kQuestionsLookedAtMax) {
    page_.cursor = before_.to_string();
    is_done_ = true;
  }
}

QuestionPage QuestionPager::take() && {
  return std::move(page_);
}

}  // namespace drover
