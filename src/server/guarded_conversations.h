// The conversations that a caller may use: those of its owner, or with a token without one everybody's.
#pragma once

#include <string>

#include "drover/conversation.h"
#include "server/rights.h"

namespace drover::server {

class GuardedConversations final : public ConversationQueue {
 public:
  // Both outlive it.
  GuardedConversations(ConversationQueue& conversations, const Principal& principal)
      : conversations_(conversations), principal_(principal) {}

  Result<ConversationsPage> conversations(const ConversationsQuery& query) override;
  // A name without an owner is the caller's own.
  Result<Conversation> conversation(const ConversationName& name, const ConversationItemsQuery& query) override;
  Result<ConversationReply> act(const ConversationName& name, const ConversationAct& act) override;
  // Whose the name is for the caller; another owner's does not exist.
  [[nodiscard]] Result<ConversationName> own(const ConversationName& name) const;

 private:
  ConversationQueue& conversations_;
  const Principal& principal_;
};

}  // namespace drover::server
