// What conversation queues promise, seen from outside: an item that was taken in is handed out once, or still there.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>

#include "drover/conversation.h"
#include "sim/life.h"
#include "store/store.h"

namespace drover::sim {

inline const ConversationName kSimConversation{"ada", "chat"};

class ConversationWatch {
 public:
  void acknowledged(const std::string& key) { acknowledged_.insert(key); }
  // A dequeue was sent; until it is answered nobody knows what it has taken.
  void asked(int dequeue) {
    // One that is asked again late finds that its batch is given up.
    may_be_late_ = may_be_late_ || unanswered_.contains(dequeue);
    unanswered_.insert(dequeue);
  }
  [[nodiscard]] std::optional<Wrong> answered(int dequeue, const std::optional<QueueBatch>& batch);
  // Once all is quiet.
  [[nodiscard]] std::optional<Wrong> check_rest(Store& store) const;

 private:
  std::set<std::string> acknowledged_;
  std::set<int> unanswered_;
  bool may_be_late_ = false;
  std::map<std::string, int> taken_by_;  // the dequeue
};

}  // namespace drover::sim
