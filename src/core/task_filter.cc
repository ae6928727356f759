#include "core/task_filter.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/json.h"
#include "base/text.h"
#include "core/fingerprint.h"
#include "core/lane.h"

namespace drover {
namespace {

constexpr std::int64_t kHeadsMax = 50'000;
constexpr std::int64_t kTextBytesMax = 32 << 20;
constexpr std::size_t kSearchBytesMax = 1'024;
// Clocks are set back now and then, so one task that is too old does not mean that all before it are. So many do.
constexpr int kPastMax = 1'000;
constexpr std::string_view kLowestId = "00000000-0000-0000-0000-000000000000";
constexpr std::string_view kHighestId = "ffffffff-ffff-ffff-ffff-ffffffffffff";

char small(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c;
}

bool contains_text(std::string_view text, const std::string& form) {
  const auto same = [](char a, char b) { return small(a) == b; };
  return !std::ranges::search(text, form, same).empty();
}

std::string in_small_letters(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(), small);
  return out;
}

// As it stands inside a JSON string, without the quotes.
std::string in_json(std::string_view text) {
  const std::string quoted = json::quote(text);
  return quoted.substr(1, quoted.size() - 2);
}

bool asks(const Task& task, const std::string& gate) {
  const std::vector<std::string> gates = gates_of(task);
  return std::ranges::find(gates, gate) != gates.end();
}

bool is_id_prefix(std::string_view text) {
  if (text.empty() || text.size() > kLowestId.size()) return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool is_hex = (text[i] >= '0' && text[i] <= '9') || (text[i] >= 'a' && text[i] <= 'f');
    if (kLowestId[i] == '-' ? text[i] != '-' : !is_hex) return false;
  }
  return true;
}

TaskId filled_up(std::string_view prefix, std::string_view with) {
  return TaskId::parse(std::string(prefix) + std::string(with.substr(prefix.size()))).value_or(TaskId());
}

}  // namespace

Status check_filter(const TaskFilter& filter) {
  for (const AnyOf* names : {&filter.type, &filter.queue, &filter.owner, &filter.tag}) {
    for (const std::string& name : names->names()) {
      // A name that no task can have: stores put several of them into one text.
      if (!is_name(name)) return fail(ErrorCode::kInvalidArgument, fmt::format("{} is no name", quoted_excerpt(name)));
    }
  }
  if (filter.search && (filter.search->empty() || filter.search->size() > kSearchBytesMax)) {
    return fail(ErrorCode::kInvalidArgument, fmt::format("search: expected a text of 1 to {} bytes", kSearchBytesMax));
  }
  if (filter.id_prefix && !is_id_prefix(*filter.id_prefix)) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("no id of a task begins with {}", quoted_excerpt(*filter.id_prefix)));
  }
  return {};
}

IdRange ids_with_prefix(std::string_view prefix) {
  return {filled_up(prefix, kLowestId), filled_up(prefix, kHighestId)};
}

TaskSieve::TaskSieve(const TaskFilter& filter)
    : filter_(filter),
      is_needed_(filter.error_class || filter.fingerprint || filter.finished_after || filter.finished_before ||
                 filter.escalated || filter.worker_id || filter.created_since || filter.created_until ||
                 filter.search || filter.model || filter.agent_id || filter.gate) {
  if (!filter.search) return;
  forms_.push_back(in_small_letters(*filter.search));
  if (std::string form = in_small_letters(in_json(*filter.search)); form != forms_.front()) forms_.push_back(form);
}

Parts TaskSieve::parts() const {
  if (filter_.search) return Parts::kAll;
  return filter_.model || filter_.agent_id ? Parts::kSummary : Parts::kHead;
}

bool TaskSieve::takes(const Task& task) {
  if (!is_needed_) return true;
  ++searched_.tasks;
  searched_.back_to = task.created_at;
  const bool is_past = filter_.order == TaskOrder::kNewestFirst
                           ? filter_.created_since && task.created_at < *filter_.created_since
                           : filter_.created_until && task.created_at >= *filter_.created_until;
  past_in_a_row_ = is_past ? past_in_a_row_ + 1 : 0;
  return matches(task) && has_text(task);
}

bool TaskSieve::matches(const Task& task) const {
  const TaskFilter& filter = filter_;
  if (filter.escalated && *filter.escalated != task.escalation.has_value()) return false;
  if (filter.finished_after && !(task.finished_at && *task.finished_at >= *filter.finished_after)) return false;
  if (filter.finished_before && !(task.finished_at && *task.finished_at < *filter.finished_before)) return false;
  if (filter.created_since && task.created_at < *filter.created_since) return false;
  if (filter.created_until && task.created_at >= *filter.created_until) return false;
  if (filter.worker_id && task.worker_id != filter.worker_id) return false;
  if (filter.model && task.model != filter.model) return false;
  if (filter.agent_id && task.agent_id != filter.agent_id) return false;
  if (filter.gate && !asks(task, *filter.gate)) return false;
  if (filter.error_class && !(task.error && task.error->error_class == *filter.error_class)) return false;
  return !filter.fingerprint || (task.error && fingerprint(*task.error) == *filter.fingerprint);
}

bool TaskSieve::has_text(const Task& task) {
  if (!filter_.search) return true;
  const auto has_it = [&](std::string_view text) {
    text_bytes_ += static_cast<std::int64_t>(text.size());
    return std::ranges::any_of(forms_, [&](const std::string& form) { return contains_text(text, form); });
  };
  return has_it(task.prompt.value_or("")) || has_it(task.payload.value_or("")) ||
         (task.error && has_it(task.error->message));
}

bool TaskSieve::has_looked_enough() const {
  return searched_.tasks >= (filter_.search ? kSearchTasksMax : kHeadsMax) || text_bytes_ >= kTextBytesMax;
}

bool TaskSieve::is_past_all() const {
  return past_in_a_row_ >= kPastMax;
}

std::optional<Searched> TaskSieve::searched() const {
  return is_needed_ ? std::optional(searched_) : std::nullopt;
}

std::optional<Searched> both(const std::optional<Searched>& first, const std::optional<Searched>& second) {
  if (!first || !second) return second ? second : first;
  return Searched{.tasks = first->tasks + second->tasks, .back_to = second->back_to};
}

bool ends_search(const TaskFilter& filter, bool has_more, bool is_short, const std::optional<Searched>& so_far) {
  return filter.search && has_more && (is_short || (so_far && so_far->tasks >= kSearchTasksMax));
}

}  // namespace drover
