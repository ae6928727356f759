#include "sim/provider_watch.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/json.h"

namespace drover::sim {
namespace {

std::string text_in(const Event& event, std::string_view key) {
  const auto data = json::parse(event.data);
  const json::Value* value = data ? data->find(key) : nullptr;
  return value != nullptr && value->as_string() != nullptr ? *value->as_string() : "";
}

constexpr Millis kSetBack{60'000};

// "task ID was rate limited"
std::optional<TaskId> blamed(const std::string& why) {
  constexpr std::size_t kBefore = 5;
  constexpr std::size_t kIdLength = 36;
  const auto id = why.size() > kBefore ? TaskId::parse(why.substr(kBefore, kIdLength)) : std::nullopt;
  return id;
}

}  // namespace

int ProviderWatch::live_max() const {
  const auto answers = std::ranges::count_if(since_, [&](const auto& run) { return answered_.contains(run); });
  return 1 << std::min<std::ptrdiff_t>(answers, 16);
}

std::optional<Wrong> ProviderWatch::take_cut(const Event& event) {
  const std::string why = text_in(event, "why");
  const auto until = parse_time(text_in(event, "until"));
  const auto task = blamed(why);
  if (!until || !task) return Wrong{"G2 provider", fmt::format("a cut that says nothing: {}", event.data)};
  const auto start = live_.find(*task);
  const bool is_late = start != live_.end() && start->second.seq < cut_seq_;
  // A quota that ends later keeps the gate closed; it is not another cut.
  if (is_late && !why.contains("quota_exhausted")) {
    return Wrong{"G2 provider", fmt::format("cut again by a run from before the cut: {}", event.data)};
  }
  if (!is_late) cut_seq_ = event.seq;
  opens_at_ = *until;
  is_held_ = true;
  since_.clear();
  return std::nullopt;
}

std::optional<Wrong> ProviderWatch::take_claim(const Event& event) {
  live_[event.task] = {event.seq, event.at, event.run};
  if (!is_held_) return std::nullopt;
  if (event.at + slack_ < opens_at_) {
    return Wrong{"G2 provider", fmt::format("task {} started at {}, but its provider's gate opens at {}",
                                            event.task.to_string(), format_time(event.at), format_time(opens_at_))};
  }
  // Permits are counted by the wall clock. While it is set back, runs and cuts from before it seem to lie ahead.
  if (latest_ - event.at > kSetBack) return std::nullopt;
  since_.insert({event.task, event.run});
  const auto live =
      std::ranges::count_if(live_, [&](const auto& one) { return since_.contains({one.first, one.second.run}); });
  if (live <= live_max()) return std::nullopt;
  return Wrong{"G2 provider", fmt::format("{} runs started since the gate opened, and its provider's answers allow {}",
                                          live, live_max())};
}

std::optional<Wrong> ProviderWatch::take(const Event& event) {
  latest_ = std::max(latest_, event.at);
  if (event.name == "provider.slowdown") return take_cut(event);
  if (event.name == "provider.recovered") is_held_ = false;
  if (event.task.is_nil() || event.type != type_) return std::nullopt;
  if (event.name == "task.claimed") return take_claim(event);
  if (event.name == "task.completed" || event.name == "task.suspended") answered_.insert({event.task, event.run});
  if (event.state != TaskState::kRunning) live_.erase(event.task);
  return std::nullopt;
}

}  // namespace drover::sim
