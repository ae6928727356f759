#include "sim/bulk_watch.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/json.h"
#include "support/must.h"

namespace drover::sim {
namespace {

constexpr std::string_view kCheck = "T24 bulk";

std::string member(const json::Value& data, std::string_view name) {
  const json::Value* value = data.find(name);
  if (value == nullptr) return {};
  if (const std::string* text = value->as_string()) return *text;
  return json::dump(*value);
}

// Nothing but the operation itself does anything to such a task in its name.
bool stands_alone(const Life& life) {
  return life.parents().empty() && !life.given().parent_id;
}

}  // namespace

void BulkWatch::sent(const std::string& why, BulkVerb verb, const std::string& type, std::int64_t last_seq) {
  sent_[why] = {.verb = verb, .type = type, .known_seq = last_seq};
}

std::optional<Wrong> BulkWatch::take(const Event& event, const std::unordered_map<TaskId, Life>& lives) {
  if (!event.name.starts_with("bulk.")) return std::nullopt;
  const json::Value data = test::must(json::parse(event.data));
  const std::string id = member(data, "bulk_id");
  if (event.name == "bulk.started") {
    why_of_[id] = member(data, "why");
    sent_[why_of_[id]].started_seq = event.seq;
    return std::nullopt;
  }
  Sent& sent = sent_[why_of_[id]];
  if (sent.ended_seq) return Wrong{std::string(kCheck), fmt::format("{} ended twice", why_of_[id])};
  sent.ended_seq = event.seq;
  const bool is_checked = event.name == "bulk.finished" && member(data, "failed") == "0";
  return is_checked ? check_complete(sent, lives) : std::nullopt;
}

// What matched when it was sent, and nothing has happened to since, it has missed.
std::optional<Wrong> BulkWatch::check_complete(const Sent& sent, const std::unordered_map<TaskId, Life>& lives) {
  if (sent.verb != BulkVerb::kCancel) return std::nullopt;
  for (const auto& [id, life] : lives) {
    const auto last = last_.find(id);
    const bool was_there = last != last_.end() && last->second <= sent.known_seq;
    const bool matches =
        !life.deleted() && life.given().type == sent.type && !is_terminal(life.state()) && !life.cancel_requested();
    if (was_there && matches) {
      return Wrong{std::string(kCheck), fmt::format("a bulk cancel has finished and left task {} {}", id.to_string(),
                                                    name_of(life.state()))};
    }
  }
  return std::nullopt;
}

BulkWatch::Sent* BulkWatch::cause_of(const Event& event) {
  const json::Value data = test::must(json::parse(event.data));
  const auto found = sent_.find(member(data, event.name == "task.retried" ? "why" : "reason"));
  return found == sent_.end() ? nullptr : &found->second;
}

std::optional<Wrong> BulkWatch::take(const Event& event, const Life& life) {
  if (event.name == "task.enqueued") enqueued_[event.task] = event.seq;
  last_[event.task] = event.seq;
  const bool is_of_bulk =
      event.name == "task.retried" || event.name == "task.cancelled" || event.name == "task.cancel_requested";
  Sent* sent = is_of_bulk && stands_alone(life) ? cause_of(event) : nullptr;
  if (sent == nullptr) return std::nullopt;
  const auto wrong = [&](std::string_view what) {
    return Wrong{std::string(kCheck), fmt::format("task {} {}", event.task.to_string(), what)};
  };
  if (!sent->started_seq) return wrong("was changed by an operation that has not started");
  if (enqueued_[event.task] > *sent->started_seq) return wrong("was enqueued after the operation that changed it");
  // A run that was asked to stop ends later.
  const bool is_late = sent->ended_seq && event.name != "task.cancelled";
  if (is_late) return wrong("was changed by an operation that has ended");
  if (event.name == "task.retried" && !sent->retried.insert(event.task).second) {
    return wrong("was retried twice by one operation");
  }
  return std::nullopt;
}

bool BulkWatch::may_have(BulkVerb verb, const Life& life) const {
  return std::ranges::any_of(
      sent_, [&](const auto& entry) { return entry.second.verb == verb && entry.second.type == life.given().type; });
}

int BulkWatch::running() const {
  return static_cast<int>(std::ranges::count_if(
      sent_, [](const auto& entry) { return entry.second.started_seq && !entry.second.ended_seq; }));
}

}  // namespace drover::sim
