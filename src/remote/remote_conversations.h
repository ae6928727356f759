// ConversationQueue over HTTP to a Drover server.
#pragma once

#include <string>

#include "drover/conversation.h"
#include "remote/server_calls.h"

namespace drover::remote {

class RemoteConversations final : public ConversationQueue {
 public:
  // Outlives it.
  explicit RemoteConversations(ServerCalls& calls) : calls_(calls) {}

  Result<ConversationsPage> conversations(const ConversationsQuery& query) override;
  Result<Conversation> conversation(const ConversationName& name, const ConversationItemsQuery& query) override;
  Result<ConversationReply> act(const ConversationName& name, const ConversationAct& act) override;

 private:
  ServerCalls& calls_;
};

}  // namespace drover::remote
