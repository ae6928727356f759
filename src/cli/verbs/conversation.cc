// drover conversation: what waits for the next turns of agents' conversations.
#include <fmt/format.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/text.h"
#include "base/try.h"
#include "cli/display_text.h"
#include "cli/listing.h"
#include "cli/project.h"
#include "cli/read_value.h"
#include "cli/table.h"
#include "cli/task_view.h"
#include "cli/verb.h"
#include "drover/conversation.h"
#include "engine/spec.h"
#include "wire/conversation.h"

namespace drover::cli {
namespace {

constexpr std::size_t kBodyShown = 200;

struct ConversationListOptions {
  std::optional<std::string> owner;
  Format format = Format::kAuto;
};

struct ConversationShowOptions {
  std::string key;
  std::string owner = std::string(kDefaultOwner);
  Format format = Format::kAuto;
};

struct ConversationClearOptions {
  std::string key;
  std::string owner = std::string(kDefaultOwner);
  std::string reason = "cancelled";
};

void define_conversation(Verb& verb, std::string* key, std::string* owner) {
  verb.value("KEY", "", key, read_text, "the conversation").required();
  verb.value("--owner", "O", owner, read_text, "whose conversation it is");
}

void define_conversations(Verb& verb, ConversationListOptions& options) {
  verb.value("--owner", "O", &options.owner, read_text, "only conversations of this owner");
  verb.formats(&options.format, "print a JSON array of conversations");
}

void define_items(Verb& verb, ConversationShowOptions& options) {
  define_conversation(verb, &options.key, &options.owner);
  verb.formats(&options.format, "print a JSON array of items");
}

void define_clearing(Verb& verb, ConversationClearOptions& options) {
  define_conversation(verb, &options.key, &options.owner);
  verb.value("--reason", "R", &options.reason, read_text, "why: a word for the event");
}

Result<std::vector<ConversationSummary>> read_conversations(ConversationQueue& queue,
                                                            const std::optional<std::string>& owner) {
  std::vector<ConversationSummary> all;
  std::optional<std::string> cursor;
  do {
    auto page = TRY(queue.conversations({.owner = owner, .cursor = cursor}));
    for (ConversationSummary& one : page.conversations) all.push_back(std::move(one));
    cursor = std::move(page.cursor);
  } while (cursor);
  return all;
}

Result<std::vector<QueueItem>> read_items(ConversationQueue& queue, const ConversationName& name) {
  std::vector<QueueItem> items;
  std::optional<std::int64_t> after = 0;
  do {
    auto page = TRY(queue.conversation(name, {.after = *after}));
    for (QueueItem& item : page.items) items.push_back(std::move(item));
    after = page.next;
  } while (after);
  return items;
}

Table conversation_table(const std::vector<ConversationSummary>& all, Time now) {
  Table table({{"OWNER"}, {"KEY", Fit::kElastic}, {"WAITING"}, {"HELD"}, {"CONSUMER"}, {"CHANGED"}});
  for (const ConversationSummary& one : all) {
    table.add({one.name.owner, one.name.key, std::to_string(one.length), std::to_string(one.held),
               std::string(one.has_consumer ? "yes" : "no"),
               Cell(coarse_duration(now - one.updated_at), format_time(one.updated_at))});
  }
  return table;
}

Table item_table(const std::vector<QueueItem>& items, Time now) {
  Table table({{"ID"}, {"KIND"}, {"AGE"}, {"BATCH"}, {"BODY", Fit::kElastic}});
  for (const QueueItem& item : items) {
    table.add({item_id(item.seq), item.item.kind,
               Cell(coarse_duration(now - item.enqueued_at), format_time(item.enqueued_at)),
               item.batch_id.value_or("-"), one_line(item.item.body.substr(0, kBodyShown))});
  }
  return table;
}

int run_conversations(const ConversationListOptions& options, Context& context) {
  const auto opened = open_chosen_store(context);
  if (!opened) return context.fail(opened.error());
  const auto all = read_conversations((*opened)->queue().conversation_queue(), options.owner);
  if (!all) return context.fail(all.error());
  print(Listing<ConversationSummary>{.items = *all,
                                     .nothing = "no conversations",
                                     .name = [](const ConversationSummary& one) { return one.name.key; },
                                     .table = [&] { return conversation_table(*all, system_clock().wall()); }},
        options.format, context);
  return kExitOk;
}

int run_items(const ConversationShowOptions& options, Context& context) {
  const auto opened = open_chosen_store(context);
  if (!opened) return context.fail(opened.error());
  const auto items = read_items((*opened)->queue().conversation_queue(), {options.owner, options.key});
  if (!items) return context.fail(items.error());
  print(Listing<QueueItem>{.items = *items,
                           .nothing = "nothing waits in this conversation",
                           .name = [](const QueueItem& item) { return item_id(item.seq); },
                           .table = [&] { return item_table(*items, system_clock().wall()); }},
        options.format, context);
  return kExitOk;
}

int run_clearing(const ConversationClearOptions& options, Context& context) {
  const auto opened = open_chosen_store(context);
  if (!opened) return context.fail(opened.error());
  ConversationQueue& queue = (*opened)->queue().conversation_queue();
  const auto reply = queue.act({options.owner, options.key}, ClearItems{.reason = options.reason});
  if (!reply) return context.fail(reply.error());
  context.say(fmt::format("removed {}", counted(static_cast<std::int64_t>(reply->cleared.size()), "item")));
  return kExitOk;
}

}  // namespace

void add_conversation(Verbs& verbs) {
  Verbs& conversation = verbs.family({.name = "conversation",
                                      .summary = "See what waits for the next turns of agents' conversations",
                                      .footer =
                                          R"(Programs fill and consume these queues: docs/guide/conversations.md.

Examples:
  drover conversation list
  drover conversation show agent-7)"});
  conversation.add<ConversationListOptions>(
      {.name = "list",
       .summary = "List conversations, by owner and key",
       .footer = R"(Piped, it prints tab-separated lines: owner, key, waiting, held, consumer, updated_at.

Examples:
  drover conversation list
  drover conversation list --json | jq '.[] | {key, length}')"},
      define_conversations, run_conversations);
  conversation.add<ConversationShowOptions>(
      {.name = "show",
       .summary = "List the items of a conversation, in order",
       .footer = R"(Piped, it prints tab-separated lines: id, kind, enqueued_at, batch, body.

Examples:
  drover conversation show agent-7
  drover conversation show agent-7 --owner ada --json)"},
      define_items, run_items);
  conversation.add<ConversationClearOptions>(
      {.name = "clear",
       .summary = "Remove all items that wait in a conversation",
       .footer = R"(It is refused while a process consumes the conversation without asking.

Examples:
  drover conversation clear agent-7 --reason cancelled)"},
      define_clearing, run_clearing);
}

}  // namespace drover::cli
