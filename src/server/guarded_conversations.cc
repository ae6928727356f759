#include "server/guarded_conversations.h"

#include <fmt/format.h>

#include "base/text.h"
#include "base/try.h"
#include "engine/spec.h"

namespace drover::server {

Result<ConversationName> GuardedConversations::own(const ConversationName& name) const {
  TRY(need(principal_, Right::kProduce));
  const std::string usual = principal_.owner.value_or(std::string(kDefaultOwner));
  const ConversationName owned{name.owner.empty() ? usual : name.owner, name.key};
  if (!principal_.owner || owned.owner == *principal_.owner) return owned;
  return fail(ErrorCode::kNotFound, fmt::format("there is no conversation {}", quoted_excerpt(name.key)));
}

Result<ConversationsPage> GuardedConversations::conversations(const ConversationsQuery& query) {
  TRY(need(principal_, Right::kProduce));
  ConversationsQuery asked = query;
  if (principal_.owner) {
    if (query.owner && query.owner != principal_.owner) return ConversationsPage{};
    asked.owner = principal_.owner;
  }
  return conversations_.conversations(asked);
}

Result<Conversation> GuardedConversations::conversation(const ConversationName& name,
                                                        const ConversationItemsQuery& query) {
  return conversations_.conversation(TRY(own(name)), query);
}

Result<ConversationReply> GuardedConversations::act(const ConversationName& name, const ConversationAct& act) {
  return conversations_.act(TRY(own(name)), act);
}

}  // namespace drover::server
