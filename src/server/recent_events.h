// The last events that the follower has read, for all who watch. On the loop's thread only.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "drover/task.h"

namespace drover::server {

class RecentEvents {
 public:
  // `bytes_max` counts what events hold beside their own size; their JSON may take as much again.
  RecentEvents(std::size_t events_max, std::size_t bytes_max) : events_max_(events_max), bytes_max_(bytes_max) {}

  // Drops everything: what happens after `seq` comes next.
  void restart(std::int64_t seq);
  void add(const std::vector<Event>& events);

  // Until the first restart() nothing is known.
  [[nodiscard]] bool has_begun() const { return last_.has_value(); }
  // Every event after any number from first() to last() is here.
  [[nodiscard]] std::int64_t first() const { return first_; }
  [[nodiscard]] std::int64_t last() const { return last_.value_or(0); }

  // An event, and its JSON: made once, whoever watches.
  class Recent {
   public:
    explicit Recent(Event event) : event_(std::move(event)) {}
    [[nodiscard]] const Event& event() const { return event_; }
    [[nodiscard]] const std::string& json() const;

   private:
    Event event_;
    mutable std::string json_;
  };
  // Those after `seq`, of one owner or of all, oldest first, until `take` answers false.
  using Take = std::function<bool(const Recent&)>;
  void visit(std::int64_t seq, const std::optional<std::string>& owner, const Take& take) const;

 private:
  void drop_oldest();
  [[nodiscard]] const Recent& at(std::int64_t seq) const;

  const std::size_t events_max_;
  const std::size_t bytes_max_;
  std::deque<Recent> events_;
  std::unordered_map<std::string, std::deque<std::int64_t>> by_owner_;
  std::size_t bytes_ = 0;
  std::int64_t first_ = 0;
  std::optional<std::int64_t> last_;
};

}  // namespace drover::server
