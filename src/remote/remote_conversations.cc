#include "remote/remote_conversations.h"

#include <fmt/format.h>

#include "base/text.h"
#include "core/conversation.h"
#include "net/url.h"
#include "wire/conversation.h"

namespace drover::remote {
namespace {

// Sizes are the server's to judge.
constexpr std::int64_t kAnySize = INT64_MAX;

std::string path_of(const ConversationName& name, std::string_view rest) {
  return with_query(fmt::format("/v1/conversations/{}{}", percent_encode(name.key), rest), {{"owner", name.owner}});
}

struct Request {
  std::string method = "POST";
  std::string path;
  std::string body{};
};

class ToRequest {
 public:
  explicit ToRequest(const ConversationName& name) : name_(name) {}

  Request operator()(const AppendItem& act) const { return {.path = path_of(name_, "/items"), .body = to_json(act)}; }
  Request operator()(const DequeueItems& act) const {
    return {.path = path_of(name_, act.n ? "/consume" : "/dequeue"), .body = to_json(act)};
  }
  Request operator()(const AckBatch& act) const { return {.path = path_of(name_, "/ack"), .body = to_json(act)}; }
  Request operator()(const ClearItems& act) const { return {.path = path_of(name_, "/clear"), .body = to_json(act)}; }
  Request operator()(const RemoveItem& act) const {
    return {.method = "DELETE", .path = path_of(name_, "/items/" + percent_encode(act.id))};
  }
  Request operator()(const TakeConsumer& act) const {
    return {.path = path_of(name_, "/consumer"), .body = to_json(act)};
  }
  Request operator()(const ReleaseConsumer& act) const {
    return {.method = "DELETE", .path = path_of(name_, "/consumer") + "&lease_id=" + percent_encode(act.lease_id)};
  }
  Request operator()(const MirrorItems& act) const { return {.path = path_of(name_, "/mirror"), .body = to_json(act)}; }

 private:
  const ConversationName& name_;
};

}  // namespace

Result<ConversationsPage> RemoteConversations::conversations(const ConversationsQuery& query) {
  Query asked{{"limit", std::to_string(query.limit)}};
  if (query.owner) asked.emplace_back("owner", *query.owner);
  if (query.cursor) asked.emplace_back("cursor", *query.cursor);
  return calls_.ask<ConversationsPage>("GET", with_query("/v1/conversations", asked));
}

Result<Conversation> RemoteConversations::conversation(const ConversationName& name,
                                                       const ConversationItemsQuery& query) {
  TRY(check_conversation_name(name));
  const std::string rest =
      fmt::format("&after={}&limit={}{}", query.after, query.limit, query.foreign ? "&foreign=true" : "");
  return calls_.ask<Conversation>("GET", path_of(name, "") + rest);
}

Result<ConversationReply> RemoteConversations::act(const ConversationName& name, const ConversationAct& act) {
  TRY(check_conversation_name(name));
  TRY(check_act(act, kAnySize));
  Request request = std::visit(ToRequest(name), act);
  return calls_.ask<ConversationReply>(request.method, std::move(request.path), std::move(request.body));
}

}  // namespace drover::remote
