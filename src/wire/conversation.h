// Conversations as JSON: what is asked for, and what is told of them.
#pragma once

#include <string>
#include <string_view>

#include "drover/conversation.h"

namespace drover {

[[nodiscard]] std::string to_json(const NewQueueItem& item);
[[nodiscard]] std::string to_json(const QueueItem& item);
[[nodiscard]] std::string to_json(const QueueBatch& batch);
[[nodiscard]] std::string to_json(const MirrorOp& op);
[[nodiscard]] std::string to_json(const ConversationReply& reply);
[[nodiscard]] std::string to_json(const ConversationSummary& summary);
[[nodiscard]] std::string to_json(const ConversationsPage& page);
[[nodiscard]] std::string to_json(const Conversation& conversation);

[[nodiscard]] Status read_json(std::string_view json, NewQueueItem& out);
[[nodiscard]] Status read_json(std::string_view json, QueueItem& out);
[[nodiscard]] Status read_json(std::string_view json, QueueBatch& out);
[[nodiscard]] Status read_json(std::string_view json, MirrorOp& out);
[[nodiscard]] Status read_json(std::string_view json, ConversationReply& out);
[[nodiscard]] Status read_json(std::string_view json, ConversationSummary& out);
[[nodiscard]] Status read_json(std::string_view json, ConversationsPage& out);
[[nodiscard]] Status read_json(std::string_view json, Conversation& out);

// The bodies of requests, both ways. The reader refuses members that it does not know.
[[nodiscard]] std::string to_json(const AppendItem& act);
[[nodiscard]] std::string to_json(const DequeueItems& act);
[[nodiscard]] std::string to_json(const AckBatch& act);
[[nodiscard]] std::string to_json(const ClearItems& act);
[[nodiscard]] std::string to_json(const TakeConsumer& act);
[[nodiscard]] std::string to_json(const MirrorItems& act);
[[nodiscard]] Status read_json(std::string_view json, AppendItem& out);
[[nodiscard]] Status read_json(std::string_view json, DequeueItems& out);
[[nodiscard]] Status read_json(std::string_view json, AckBatch& out);
[[nodiscard]] Status read_json(std::string_view json, ClearItems& out);
[[nodiscard]] Status read_json(std::string_view json, TakeConsumer& out);
[[nodiscard]] Status read_json(std::string_view json, MirrorItems& out);

}  // namespace drover
