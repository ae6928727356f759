#include "server/waiting_room.h"

#include <algorithm>
#include <map>
#include <utility>

namespace drover::server {
namespace {

constexpr std::size_t kRecentMax = 64;
// Who waits for work looks this often though nothing was heard of: a gate's time may have come.
constexpr Millis kLookForWork{2'000};
// What may let any lane go wakes all who wait for work, but not more often than this.
constexpr Millis kBetweenWakesOfAll{20};
constexpr MonoTime kNever{Millis::max()};

// A task of the queue itself became claimable.
bool brings_work(const Event& event) {
  return !event.task.is_nil() && is_claimable(event.state);
}

// An end gives permits back, and an operator's order may open what holds any lane.
bool may_let_go(const Event& event) {
  const bool is_of_fleet = event.task.is_nil() && !event.name.starts_with("conversation.");
  return is_of_fleet || is_terminal(event.state) || event.name == "task.retrying" || event.name == "task.deferred";
}

// The data of such an event begins with whose it is: core/conversation.cc.
bool is_appended(const Event& event, const Wait::OfConversation& conversation) {
  return event.name == "conversation.enqueued" &&
         event.data.starts_with(
             fmt::format(R"({{"owner":"{}","conversation":"{}",)", conversation.owner, conversation.key));
}

bool concerns(const Wait& wait, const Pulse& pulse) {
  if (pulse.missed_some) return true;
  const std::vector<Event>& events = *pulse.events;
  if (std::holds_alternative<Wait::Change>(wait.for_what)) return true;
  if (const auto* task = std::get_if<Wait::OfTask>(&wait.for_what)) {
    return std::ranges::find(events, task->id, &Event::task) != events.end();
  }
  if (const auto* tasks = std::get_if<Wait::OfTasks>(&wait.for_what)) {
    return std::ranges::any_of(
        events, [&](const Event& event) { return std::ranges::find(tasks->ids, event.task) != tasks->ids.end(); });
  }
  if (const auto* conversation = std::get_if<Wait::OfConversation>(&wait.for_what)) {
    return std::ranges::any_of(events, [&](const Event& event) { return is_appended(event, *conversation); });
  }
  const auto& queues = std::get<Wait::Work>(wait.for_what).queues;
  return std::ranges::any_of(events, [&](const Event& event) {
    return may_let_go(event) || (brings_work(event) && std::ranges::find(queues, event.queue) != queues.end());
  });
}

}  // namespace

void WaitingRoom::add(Wait wait, std::uint64_t pulse, MonoTime until, Again again) {
  const bool missed_some = !recent_.empty() && recent_.front().number > pulse + 1;
  const bool happened = std::ranges::any_of(
      recent_, [&](const Pulse& recent) { return recent.number > pulse && concerns(wait, recent); });
  if (missed_some || happened) return again(Try::kMayWait);
  const MonoTime now = system_clock().mono();
  const bool for_work = std::holds_alternative<Wait::Work>(wait.for_what);
  waiting_.push_back(
      {std::move(wait), until, for_work ? std::min(until, now + kLookForWork) : until, std::move(again)});
}

void WaitingRoom::call(std::list<Waiting>::iterator waiting, Try attempt) {
  const Again again = std::move(waiting->again);
  waiting_.erase(waiting);
  again(attempt);
}

void WaitingRoom::notice(const Pulse& pulse, MonoTime now) {
  recent_.push_back(pulse);
  if (recent_.size() > kRecentMax) recent_.pop_front();
  for (auto it = waiting_.begin(); it != waiting_.end();) {
    const auto waiting = it++;
    const bool for_work = std::holds_alternative<Wait::Work>(waiting->wait.for_what);
    if (!for_work && concerns(waiting->wait, pulse)) call(waiting, Try::kMayWait);
  }
  owes_wake_ = owes_wake_ || pulse.missed_some;
  wake_workers(*pulse.events, now);
}

// As many of a queue as there are new tasks in it, those first that have waited longest.
void WaitingRoom::wake_workers(const std::vector<Event>& events, MonoTime now) {
  std::map<std::string_view, int> fresh;
  for (const Event& event : events) {
    if (brings_work(event)) ++fresh[event.queue];
    owes_wake_ = owes_wake_ || may_let_go(event);
  }
  const bool all = owes_wake_ && now - woke_all_at_ >= kBetweenWakesOfAll;
  if (all) {
    woke_all_at_ = now;
    owes_wake_ = false;
  }
  if (!all && fresh.empty()) return;
  for (auto it = waiting_.begin(); it != waiting_.end();) {
    const auto waiting = it++;
    const auto* work = std::get_if<Wait::Work>(&waiting->wait.for_what);
    if (work == nullptr) continue;
    const auto queue = std::ranges::find_if(work->queues, [&](const std::string& name) {
      const auto found = fresh.find(name);
      return found != fresh.end() && found->second > 0;
    });
    if (queue != work->queues.end()) --fresh.find(*queue)->second;
    if (all || queue != work->queues.end()) call(waiting, Try::kMayWait);
  }
}

MonoTime WaitingRoom::tick(MonoTime now) {
  if (owes_wake_ && now - woke_all_at_ >= kBetweenWakesOfAll) wake_workers({}, now);
  MonoTime next = owes_wake_ ? woke_all_at_ + kBetweenWakesOfAll : kNever;
  for (auto it = waiting_.begin(); it != waiting_.end();) {
    const auto waiting = it++;
    if (now >= waiting->until) {
      call(waiting, Try::kLast);
    } else if (now >= waiting->look_at) {
      call(waiting, Try::kMayWait);
    } else {
      next = std::min(next, waiting->look_at);
    }
  }
  return next;
}

void WaitingRoom::empty() {
  while (!waiting_.empty()) call(waiting_.begin(), Try::kLast);
}

}  // namespace drover::server
