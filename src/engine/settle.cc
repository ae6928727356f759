// Settle: a run ended, as its worker reports it. The fence is here: only the live lease may speak.
#include <fmt/format.h>

#include "base/json.h"
#include "base/planted_bug.h"
#include "base/text.h"
#include "engine/cascade.h"
#include "engine/engine.h"

namespace drover {

namespace {

constexpr std::size_t kErrorMessageBytesMax = 16'384;

// Long messages keep head and tail, and say what was left out.
std::string fit_message(std::string_view text) {
  const std::string clean = to_utf8(text);
  if (clean.size() <= kErrorMessageBytesMax) return clean;
  const std::size_t half = kErrorMessageBytesMax / 2;
  return to_utf8(fmt::format("{}\n… {} bytes left out …\n{}", clean.substr(0, half), clean.size() - 2 * half,
                             clean.substr(clean.size() - half)));
}

Result<Trigger> completion_trigger(const Completion& completion, const Limits& limits) {
  Completion checked = completion;
  if (checked.result) {
    auto compact = json::compact(*checked.result);
    if (!compact) return std::unexpected(compact.error());
    if (compact->size() > static_cast<std::size_t>(limits.result_bytes)) {
      return fail(ErrorCode::kResultTooLarge,
                  fmt::format("the result has {} bytes; at most {} are kept", compact->size(), limits.result_bytes));
    }
    checked.result = std::move(*compact);
  }
  return trigger::Complete{std::move(checked)};
}

Result<Trigger> trigger_of(const Settlement& item, const Limits& limits) {
  if (const auto* completion = std::get_if<Completion>(&item.end)) return completion_trigger(*completion, limits);
  if (const auto* failure = std::get_if<Failure>(&item.end)) {
    Failure fitted = *failure;
    fitted.message = fit_message(failure->message);
    if (fitted.note) fitted.note = fit_message(*fitted.note);
    if (fitted.retry_after && *fitted.retry_after < Millis{0}) fitted.retry_after = Millis{0};
    return trigger::Fail{std::move(fitted)};
  }
  if (const auto* confirmed = std::get_if<CancelConfirmed>(&item.end))
    return trigger::ConfirmCancel{confirmed->exit_code};
  return trigger::Release{};
}

Status check_fence(const TaskRecord& record, const Lease& lease) {
  if (planted(PlantedBug::kSettleIgnoresLease) && record.task.state == TaskState::kRunning) return {};
  if (record.task.state != TaskState::kRunning || record.lease != lease.id || lease.id.is_none()) {
    return fail(ErrorCode::kStaleLease, fmt::format("this lease of task {} has ended; the task is {}",
                                                    lease.task.to_string(), name_of(record.task.state)));
  }
  return {};
}

// The group for one item, decided on top of the items before it.
Result<StepGroup> decide_item(const Settlement& item, const Trigger& trigger, RecordView& view, Rng& rng,
                              const Policy& policy, Time now) {
  const auto found = view.find(item.lease.task, Parts::kHead);
  if (!found) return std::unexpected(found.error());
  const std::optional<TaskRecord>& record = *found;
  if (!record) return fail(ErrorCode::kNotFound, fmt::format("there is no task {}", item.lease.task.to_string()));
  if (auto fence = check_fence(*record, item.lease); !fence) return std::unexpected(fence.error());
  Cascade cascade(view, rng, policy, now);
  if (auto status = cascade.run(*record, trigger); !status) return std::unexpected(status.error());
  return cascade.take();
}

}  // namespace

std::vector<Result<TaskState>> Engine::settle(std::span<const Settlement> items) {
  std::vector<Result<TaskState>> answers(items.size(), too_much_contention("settle"));
  const auto fail_rest = [&](std::span<const std::size_t> rest, const Error& error) {
    for (const std::size_t i : rest) answers[i] = std::unexpected(error);
    return answers;
  };
  std::vector<std::size_t> open(items.size());
  for (std::size_t i = 0; i < items.size(); ++i) open[i] = i;
  auto policy = this->policy();
  if (!policy) return fail_rest(open, policy.error());

  for (int attempt = 0; attempt < kDecideTriesMax && !open.empty(); ++attempt) {
    auto now = store_.now();
    if (!now) return fail_rest(open, now.error());
    RecordView view(store_);
    std::vector<TaskId> ids;
    for (const std::size_t i : open) ids.push_back(items[i].lease.task);
    if (auto read = view.prefetch(ids); !read) return fail_rest(open, read.error());

    std::vector<StepGroup> groups;
    std::vector<std::size_t> sent;
    for (const std::size_t i : open) {
      auto trigger = trigger_of(items[i], (*policy)->limits);
      auto group =
          trigger ? decide_item(items[i], *trigger, view, rng_, **policy, *now) : std::unexpected(trigger.error());
      if (!group) {
        answers[i] = std::unexpected(group.error());
        continue;
      }
      answers[i] = group->steps.front().next.task.state;
      groups.push_back(std::move(*group));
      sent.push_back(i);
    }
    open.clear();
    if (groups.empty()) break;
    auto applied = store_.apply(groups);
    if (!applied) return fail_rest(sent, applied.error());
    for (std::size_t k = 0; k < sent.size(); ++k) {
      if ((*applied)[k] == Applied::kDone) continue;
      answers[sent[k]] = too_much_contention("settle");
      open.push_back(sent[k]);
    }
  }
  return answers;
}

}  // namespace drover
