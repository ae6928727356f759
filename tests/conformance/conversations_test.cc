// Conversation queues: order, merging, limits, batches that wait for their ack, the consumer lease and its mirror.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <thread>

#include "conformance/conformance.h"
#include "drover/conversation.h"
#include "drover/queue_runtime.h"
#include "engine/conversations.h"
#include "support/queue_model.h"

namespace drover::test {
namespace {

class Conversations : public ConformanceTest {
 protected:
  [[nodiscard]] ConversationQueue& conversations() { return queue().conversation_queue(); }
  [[nodiscard]] Result<ConversationReply> try_act(const ConversationAct& act) {
    return conversations().act(name_, act);
  }
  ConversationReply act(const ConversationAct& act) { return must(try_act(act)); }

  static NewQueueItem item(const std::string& key, const std::string& kind = "message") {
    return {.item_key = key, .kind = kind, .body = fmt::format(R"({{"text":"{}"}})", key)};
  }
  ConversationReply append(const std::string& key, const std::string& kind = "message") {
    return act(AppendItem{.item = item(key, kind)});
  }
  void append_in(const std::string& key, const std::string& agent) {
    NewQueueItem scoped = item(key);
    scoped.agent_id = agent;
    act(AppendItem{.item = scoped});
  }
  static std::string keys_of(const std::vector<QueueItem>& items) {
    std::string keys;
    for (const QueueItem& one : items) keys += (keys.empty() ? "" : " ") + one.item.item_key;
    return keys;
  }
  static std::string keys_of(const ConversationReply& reply) {
    return reply.batch ? reply.batch->batch_id + ": " + keys_of(reply.batch->items) : "nothing";
  }
  std::string dequeue(const DequeueItems& how = {}) { return keys_of(act(how)); }
  std::string waiting() { return keys_of(must(conversations().conversation(name_, {})).items); }
  std::string event_names() {
    std::string names;
    for (const Event& event : must(queue().events(0, 1'000))) {
      if (event.name.starts_with("conversation.")) names += event.name.substr(13) + " ";
    }
    return names;
  }
  std::string take_lease() { return act(TakeConsumer{}).lease_id.value_or("none"); }
  [[nodiscard]] ErrorCode refusal(const ConversationAct& act) {
    const auto reply = try_act(act);
    return reply ? ErrorCode::kInternal : reply.error().code;
  }
  static MirrorOp enqueued(const std::string& key) { return {.kind = MirrorOp::Kind::kEnqueue, .item = item(key)}; }
  static MirrorOp taken(const std::vector<std::string>& keys, const std::string& batch = "", bool redeliver = false) {
    return {.kind = MirrorOp::Kind::kDequeue, .item_keys = keys, .batch_key = batch, .redeliver = redeliver};
  }

  ConversationName name_{"anna", "chat-1"};
};
ON_EVERY_STORE(Conversations);

TEST_P(Conversations, HandOutTheMessagesOfATurnTogetherAndBarriersAlone) {
  append("a");
  append("b", "task_notification");
  append("c", "approval_result");
  append("d");
  EXPECT_EQ(dequeue(), "batch-1: a b");
  EXPECT_EQ(dequeue(), "batch-2: c");
  const ConversationReply last = act(DequeueItems{});
  EXPECT_EQ(keys_of(last), "batch-3: d");
  EXPECT_EQ(last.batch->queue_len_after, 0);
  EXPECT_EQ(last.batch->items[0].item.body, R"({"text":"d"})");
  EXPECT_EQ(last.batch->items[0].enqueued_at, now());
  EXPECT_EQ(dequeue(), "nothing");
  EXPECT_EQ(event_names(), "enqueued enqueued enqueued enqueued dequeued dequeued dequeued ");
}

TEST_P(Conversations, NeverMixScopesInATurn) {
  append_in("a", "one");
  append_in("b", "two");
  append_in("c", "two");
  append("d");
  EXPECT_EQ(dequeue(), "batch-1: a");
  EXPECT_EQ(dequeue(), "batch-2: b c");
  EXPECT_EQ(dequeue(), "batch-3: d");
}

TEST_P(Conversations, TakeAnItemOnceHoweverOftenItIsSent) {
  EXPECT_EQ(append("a").id, "q-1");
  const ConversationReply again = append("a");
  EXPECT_TRUE(again.replayed);
  EXPECT_EQ(again.id, "q-1");
  EXPECT_EQ(again.length, 1);
  EXPECT_EQ(dequeue(), "batch-1: a");
  EXPECT_TRUE(append("a").replayed) << "also after it has left";
  EXPECT_EQ(dequeue(), "nothing");
}

TEST_P(Conversations, KeepBodiesByteByByte) {
  NewQueueItem odd = item("a");
  odd.body = R"({"content":[{"type":"text","text":"\u00e9 é 1.10"}],"n":12345678901234567890})";
  act(AppendItem{.item = odd});
  EXPECT_EQ(act(DequeueItems{}).batch->items[0].item, odd);
}

TEST_P(Conversations, DropTheOldestAtTheSoftLimitAndRefuseAtTheHardOne) {
  const QueueLimits limits{.max_items = 2, .hard_max_items = 4};
  act(AppendItem{.item = item("barrier", "approval_result"), .limits = limits});
  append("a");
  const ConversationReply third = append("b");
  EXPECT_EQ(keys_of({*third.dropped}), "a");
  EXPECT_EQ(third.dropped->item.body, R"({"text":"a"})");
  EXPECT_EQ(third.length, 2);
  append("x", "overlay_action");
  append("y", "overlay_action");
  const ConversationReply refused = append("c");
  EXPECT_TRUE(refused.refused);
  EXPECT_EQ(refused.id, "q-6") << "a refused item uses up an id";
  EXPECT_EQ(refused.length, 4);
  EXPECT_EQ(waiting(), "barrier b x y");
  EXPECT_EQ(event_names(), "enqueued enqueued dropped enqueued enqueued enqueued dropped ");
}

TEST_P(Conversations, TellThatTheyAreBlockedAndTakeNothing) {
  EXPECT_EQ(dequeue({.blocked_reason = "streaming"}), "nothing");
  append("a");
  EXPECT_EQ(dequeue({.blocked_reason = "streaming"}), "nothing");
  EXPECT_EQ(event_names(), "enqueued blocked ");
  EXPECT_EQ(dequeue(), "batch-1: a");
}

TEST_P(Conversations, ConsumeByNumberWhateverTheItemsAre) {
  append("a");
  append("b", "approval_result");
  append("c");
  EXPECT_EQ(dequeue({.n = 0}), "nothing");
  EXPECT_EQ(dequeue({.n = 2}), "batch-1: a b");
  EXPECT_EQ(dequeue({.n = 9}), "batch-2: c");
}

TEST_P(Conversations, RemoveOneAndClearTheRest) {
  append("a");
  append("b");
  append("c");
  EXPECT_EQ(act(RemoveItem{.id = "q-2"}).removed->item.body, R"({"text":"b"})");
  EXPECT_FALSE(act(RemoveItem{.id = "q-2"}).removed.has_value());
  EXPECT_EQ(keys_of(act(ClearItems{.reason = "cancelled"}).cleared), "a c");
  EXPECT_EQ(waiting(), "");
  EXPECT_EQ(event_names(), "enqueued enqueued enqueued removed cleared ");
}

TEST_P(Conversations, GiveTheSameBatchAgainToWhoLostTheAnswer) {
  append("a");
  const DequeueItems ask{.batch_key = "key-1", .instance = "me"};
  EXPECT_EQ(dequeue(ask), "batch-1: a");
  append("b");
  const ConversationReply again = act(ask);
  EXPECT_TRUE(again.replayed);
  EXPECT_EQ(keys_of(again), "batch-1: a");
  EXPECT_EQ(again.batch->items[0].item.body, R"({"text":"a"})");
  EXPECT_EQ(dequeue({.batch_key = "key-2", .instance = "me"}), "batch-2: b") << "the next dequeue ends the first";
  EXPECT_EQ(waiting(), "b");
  EXPECT_FALSE(act(AckBatch{.batch_id = "batch-2"}).replayed);
  EXPECT_TRUE(act(AckBatch{.batch_id = "batch-2"}).replayed);
  EXPECT_EQ(waiting(), "");
}

TEST_P(Conversations, KeepABatchForAMinuteThenDropIt) {
  append("a");
  EXPECT_EQ(dequeue({.batch_key = "key-1"}), "batch-1: a");
  advance(kBatchKept - 1ms);
  EXPECT_EQ(dequeue({.batch_key = "key-1"}), "batch-1: a") << "kept for as long once more";
  advance(kBatchKept);
  EXPECT_EQ(dequeue({.batch_key = "key-1"}), "nothing");
}

TEST_P(Conversations, KeepABatchWithoutTakingAnotherInItsPlace) {
  append("a");
  EXPECT_EQ(dequeue({.batch_key = "key-1", .instance = "host", .redeliver = true}), "batch-1: a");
  append("b");
  advance(kBatchKept + 1ms);
  EXPECT_EQ(dequeue({.batch_key = "key-1", .keep = true}), "batch-1: a") << "the host slept, and nobody else came";
  EXPECT_EQ(dequeue({.batch_key = "key-2", .instance = "other", .redeliver = true}), "batch-2: b");
  advance(kBatchKept + 1ms);
  EXPECT_EQ(dequeue({.batch_key = "key-3", .instance = "third", .redeliver = true}), "batch-1: a");
  append("c");
  EXPECT_EQ(dequeue({.batch_key = "key-1", .keep = true}), "nothing") << "somebody else has it now";
  act(AckBatch{.batch_id = "batch-1"});
  EXPECT_EQ(dequeue({.batch_key = "key-3", .keep = true}), "nothing");
  EXPECT_EQ(refusal(DequeueItems{.keep = true}), ErrorCode::kInvalidArgument);
}

TEST_P(Conversations, RedeliverWhatWasNotAcknowledged) {
  append("a");
  append("b");
  EXPECT_EQ(dequeue({.batch_key = "key-1", .instance = "dead", .redeliver = true}), "batch-1: a b");
  append("c");
  EXPECT_EQ(dequeue({.batch_key = "key-2", .instance = "other", .redeliver = true}), "batch-2: c");
  act(AckBatch{.batch_id = "batch-2"});
  advance(kBatchKept);
  append("d");
  const ConversationReply again = act(DequeueItems{.batch_key = "key-3", .instance = "other", .redeliver = true});
  EXPECT_EQ(keys_of(again), "batch-1: a b") << "under its own id, and without the new item";
  EXPECT_TRUE(again.batch->delivered_again);
  EXPECT_EQ(again.batch->queue_len_after, 1);
  act(AckBatch{.batch_id = "batch-1"});
  EXPECT_EQ(dequeue(), "batch-3: d");
}

TEST_P(Conversations, LetOneProcessConsumeWithoutAsking) {
  append("a");
  const std::string lease = take_lease();
  EXPECT_EQ(refusal(TakeConsumer{}), ErrorCode::kWrongState);
  EXPECT_EQ(refusal(DequeueItems{}), ErrorCode::kWrongState);
  EXPECT_EQ(refusal(ClearItems{.reason = "error"}), ErrorCode::kWrongState);
  EXPECT_EQ(refusal(RemoveItem{.id = "q-1"}), ErrorCode::kWrongState);
  EXPECT_EQ(append("b").length, 2) << "others may append";
  advance(kConsumerLease - 1ms);
  EXPECT_EQ(act(TakeConsumer{.lease_id = lease}).lease_id, lease);
  advance(kConsumerLease - 1ms);
  EXPECT_EQ(refusal(TakeConsumer{}), ErrorCode::kWrongState) << "it was renewed";
  advance(1ms);
  EXPECT_EQ(dequeue(), "batch-1: a b");
  EXPECT_EQ(refusal(TakeConsumer{.lease_id = lease}), ErrorCode::kStaleLease);
  EXPECT_EQ(refusal(MirrorItems{.lease_id = lease, .ops = {enqueued("x")}}), ErrorCode::kStaleLease);
}

TEST_P(Conversations, GiveTheSameLeaseToWhoLostTheAnswer) {
  const auto first = act(TakeConsumer{.take_key = "t1"});
  const auto again = act(TakeConsumer{.take_key = "t1"});
  EXPECT_EQ(first.lease_id, again.lease_id);
  EXPECT_TRUE(again.replayed);
  EXPECT_EQ(refusal(TakeConsumer{.take_key = "t2"}), ErrorCode::kWrongState);
  act(ReleaseConsumer{.lease_id = *first.lease_id});
  EXPECT_NE(act(TakeConsumer{.take_key = "t2"}).lease_id, first.lease_id);
}

TEST_P(Conversations, MirrorEachOperationOnce) {
  const std::string lease = take_lease();
  const MirrorItems first{.lease_id = lease, .from_op = 1, .ops = {enqueued("a"), enqueued("b"), taken({"a"})}};
  EXPECT_EQ(act(first).last_op, 3);
  EXPECT_EQ(act(first).last_op, 3) << "a repeat changes nothing";
  EXPECT_EQ(waiting(), "b");
  EXPECT_EQ(act(MirrorItems{.lease_id = lease, .from_op = 3, .ops = {taken({"a"}), enqueued("c")}}).last_op, 4);
  EXPECT_EQ(waiting(), "b c");
  EXPECT_EQ(refusal(MirrorItems{.lease_id = lease, .from_op = 6, .ops = {enqueued("d")}}), ErrorCode::kWrongState);
  append("foreign");
  EXPECT_EQ(keys_of(must(conversations().conversation(name_, {.foreign = true})).items), "foreign");
  act(MirrorItems{.lease_id = lease,
                  .from_op = 5,
                  .ops = {{.kind = MirrorOp::Kind::kRemove, .item_keys = {"b"}},
                          {.kind = MirrorOp::Kind::kDrop, .item_keys = {"c"}},
                          {.kind = MirrorOp::Kind::kClear, .item_keys = {"foreign"}, .reason = "shutdown"}}});
  EXPECT_EQ(waiting(), "");
  EXPECT_EQ(event_names(), "enqueued enqueued dequeued enqueued enqueued removed dropped cleared ");
}

TEST_P(Conversations, GoOnWithALeaseThatRanOutWhileNobodyElseCame) {
  const std::string lease = take_lease();
  advance(kConsumerLease + 1h);
  append("foreign");
  EXPECT_EQ(act(MirrorItems{.lease_id = lease, .ops = {enqueued("a")}}).last_op, 1);
  EXPECT_EQ(refusal(TakeConsumer{}), ErrorCode::kWrongState) << "it is held again";
}

TEST_P(Conversations, HandABatchOfADeadConsumerToTheNextOne) {
  const std::string lease = take_lease();
  act(MirrorItems{.lease_id = lease, .ops = {enqueued("a"), enqueued("b"), taken({"a"}, "turn-9", true)}});
  advance(kConsumerLease);
  const std::string next = take_lease();
  const auto items = must(conversations().conversation(name_, {})).items;
  ASSERT_EQ(keys_of(items), "a b");
  EXPECT_EQ(items[0].batch_id, "turn-9");
  EXPECT_FALSE(items[1].batch_id.has_value());
  act(MirrorItems{.lease_id = next, .ops = {taken({"a"}, "turn-9", true)}});
  act(MirrorItems{.lease_id = next, .from_op = 2, .ops = {{.kind = MirrorOp::Kind::kAck, .batch_key = "turn-9"}}});
  EXPECT_EQ(waiting(), "b");
  act(ReleaseConsumer{.lease_id = next});
  EXPECT_EQ(dequeue(), "batch-2: b");
}

TEST_P(Conversations, AreNotTakenOverFromWhoWorksOnABatch) {
  append("a");
  dequeue({.batch_key = "key-1", .redeliver = true});
  EXPECT_EQ(refusal(TakeConsumer{}), ErrorCode::kWrongState);
  advance(kBatchKept);
  take_lease();
  EXPECT_EQ(must(conversations().conversation(name_, {})).items[0].batch_id, "batch-1");
}

TEST_P(Conversations, RefuseWhatMakesNoSense) {
  EXPECT_EQ(refusal(AppendItem{.item = {.item_key = "", .kind = "message"}}), ErrorCode::kInvalidArgument);
  EXPECT_EQ(refusal(AppendItem{.item = {.item_key = "a", .kind = "a b"}}), ErrorCode::kInvalidArgument);
  EXPECT_EQ(refusal(AppendItem{.item = {.item_key = "a", .kind = "message", .body = "[1]"}}),
            ErrorCode::kInvalidArgument);
  EXPECT_EQ(refusal(AppendItem{.item = {.item_key = "a", .kind = "message", .body = "{"}}), ErrorCode::kInvalidJson);
  EXPECT_EQ(refusal(AppendItem{.item = item("a"), .limits = QueueLimits{.max_items = 0}}), ErrorCode::kInvalidArgument);
  EXPECT_EQ(refusal(AppendItem{.item = item("a"), .limits = QueueLimits{.max_items = 1, .hard_max_items = 10'001}}),
            ErrorCode::kInvalidArgument);
  EXPECT_EQ(refusal(DequeueItems{.redeliver = true}), ErrorCode::kInvalidArgument);
  EXPECT_EQ(refusal(RemoveItem{.id = "7"}), ErrorCode::kInvalidArgument);
  EXPECT_EQ(refusal(AckBatch{.batch_id = "batch-0"}), ErrorCode::kInvalidArgument);
  EXPECT_EQ(refusal(ClearItems{}), ErrorCode::kInvalidArgument);
  EXPECT_EQ(refusal(MirrorItems{.lease_id = "none", .ops = {enqueued("x")}}), ErrorCode::kStaleLease);
  const auto bad_name = conversations().act({"anna", "a/b"}, DequeueItems{});
  EXPECT_EQ(bad_name.error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(conversations().conversation(name_, {}).error().code, ErrorCode::kNotFound) << "nothing was made";
  EXPECT_EQ(event_names(), "");
  const NewQueueItem large{
      .item_key = "a", .kind = "message", .body = "{\"a\":\"" + std::string(std::size_t{2} << 20U, 'x') + "\"}"};
  EXPECT_EQ(refusal(AppendItem{.item = large}), ErrorCode::kPayloadTooLarge);
}

TEST_P(Conversations, AreListedByOwnerAndKeyInPages) {
  for (const ConversationName& name : {ConversationName{"b", "1"}, {"a-b", "1"}, {"a", "2"}, {"a", "1"}}) {
    must(conversations().act(name, AppendItem{.item = item("x")}));
  }
  std::string found;
  std::optional<std::string> cursor;
  do {
    const auto page = must(conversations().conversations({.limit = 2, .cursor = cursor}));
    for (const ConversationSummary& one : page.conversations) {
      found += fmt::format("{}/{}={} ", one.name.owner, one.name.key, one.length);
    }
    cursor = page.cursor;
  } while (cursor);
  EXPECT_EQ(found, "a/1=1 a/2=1 a-b/1=1 b/1=1 ");
  EXPECT_EQ(must(conversations().conversations({.owner = "a"})).conversations.size(), 2U);
  EXPECT_EQ(conversations().conversations({.limit = 0}).error().code, ErrorCode::kInvalidArgument);
}

TEST_P(Conversations, ShowTheirItemsInPages) {
  for (int i = 1; i <= 5; ++i) append(fmt::format("k{}", i));
  const auto first = must(conversations().conversation(name_, {.limit = 2}));
  EXPECT_EQ(keys_of(first.items), "k1 k2");
  EXPECT_EQ(first.next, 2);
  EXPECT_EQ(first.summary.length, 5);
  const auto rest = must(conversations().conversation(name_, {.after = *first.next}));
  EXPECT_EQ(keys_of(rest.items), "k3 k4 k5");
  EXPECT_FALSE(rest.next.has_value());
  EXPECT_EQ(rest.last_seq, 5);
}

TEST_P(Conversations, OutliveTheProcessAndGoOnceEmptyForAWeek) {
  append("a");
  reopen();
  EXPECT_EQ(waiting(), "a");
  pass(kEmptyConversationKept * 2);
  EXPECT_EQ(waiting(), "a");
  EXPECT_EQ(dequeue(), "batch-1: a");
  sweep();
  EXPECT_EQ(must(conversations().conversations({})).conversations.size(), 1U);
  pass(kEmptyConversationKept + 1h);
  EXPECT_TRUE(must(conversations().conversations({})).conversations.empty());
}

TEST_P(Conversations, HandNoItemToTwoOfManyConsumers) {
  constexpr int kItems = 60;
  for (int i = 0; i < kItems; ++i) append(fmt::format("k{}", i), "approval_result");
  std::vector<std::string> taken[3];
  {
    std::vector<std::jthread> consumers;
    for (std::vector<std::string>& mine : taken) {
      consumers.emplace_back([&] {
        for (;;) {
          const auto reply = conversations().act(name_, DequeueItems{.instance = "x"});
          if (reply && !reply->batch) return;
          if (reply) mine.push_back(reply->batch->items[0].item.item_key);
        }
      });
    }
  }
  std::vector<std::string> all;
  for (const std::vector<std::string>& mine : taken) all.insert(all.end(), mine.begin(), mine.end());
  EXPECT_EQ(all.size(), static_cast<std::size_t>(kItems));
  std::ranges::sort(all);
  EXPECT_TRUE(std::ranges::adjacent_find(all) == all.end());
}

TEST_P(Conversations, AreUsedThroughARuntimeWithCallbacks) {
  std::string told;
  const auto note = [&](std::string_view what, std::int64_t n) { told += fmt::format("{}:{} ", what, n); };
  QueueRuntime runtime(
      queue(),
      {.conversation = name_,
       .instance = "host-1",
       .limits = QueueLimits{.max_items = 1, .hard_max_items = 2},
       .callbacks = {.on_enqueued = [&](const QueueItem& one, std::int64_t n) { note("+" + one.item.item_key, n); },
                     .on_dequeued = [&](const QueueBatch& batch) { note(batch.batch_id, batch.queue_len_after); },
                     .on_blocked = [&](std::string_view reason, std::int64_t n) { note(reason, n); },
                     .on_cleared = [&](std::string_view reason, std::int64_t n) { note(reason, n); },
                     .on_dropped = [&](const QueueItem& one, std::int64_t n) { note("-" + one.item.item_key, n); },
                     .on_removed = [&](const QueueItem& one, std::int64_t n) { note("x" + one.item.item_key, n); }}});
  EXPECT_EQ(must(runtime.length()), 0);
  EXPECT_FALSE(must(runtime.try_dequeue("streaming")).has_value());
  EXPECT_EQ(must(runtime.enqueue(item("a")))->seq, 1);
  must(runtime.enqueue(item("b")));
  EXPECT_FALSE(must(runtime.try_dequeue("streaming")).has_value());
  EXPECT_FALSE(must(runtime.try_dequeue("streaming")).has_value()) << "told once";
  must(runtime.enqueue(item("c", "overlay_action")));
  EXPECT_FALSE(must(runtime.enqueue(item("d"))).has_value());
  EXPECT_EQ(must(runtime.try_dequeue())->batch_id, "batch-1");
  must(runtime.ack("batch-1"));
  EXPECT_FALSE(must(runtime.consume_items(0)).has_value());
  must(runtime.remove_item("q-3"));
  EXPECT_EQ(must(runtime.clear("shutdown")), 0);
  EXPECT_EQ(told, "+a:1 -a:1 +b:1 streaming:1 +c:2 -d:2 batch-1:1 xc:0 shutdown:0 ");
}

// DROVER_TEST_PERCENT=10000 makes 20,000 operations on each store.
int random_operations() {
  const char* percent = std::getenv("DROVER_TEST_PERCENT");
  return percent == nullptr ? 200 : 2 * std::max(1, std::atoi(percent));
}

TEST_P(Conversations, DoWhatAModelDoesThroughARuntime) {
  SeededRng rng(22);
  const QueueLimits limits{.max_items = 5, .hard_max_items = 9};
  QueueModel model(limits);
  std::string told;
  const auto tell = [&](const std::string& what, std::int64_t n) {
    told += fmt::format("{}{}:{}", told.empty() ? "" : " ", what, n);
  };
  QueueRuntime runtime(
      queue(),
      {.conversation = name_,
       .instance = "host-1",
       .limits = limits,
       .callbacks = {.on_enqueued = [&](const QueueItem& one, std::int64_t n) { tell("+" + item_id(one.seq), n); },
                     .on_dequeued =
                         [&](const QueueBatch& batch) {
                           std::string ids;
                           for (const QueueItem& one : batch.items) ids += (ids.empty() ? "" : " ") + item_id(one.seq);
                           tell(fmt::format("{}[{}]", batch.batch_id, ids), batch.queue_len_after);
                         },
                     .on_blocked = [&](std::string_view, std::int64_t n) { tell("blocked", n); },
                     .on_cleared = [&](std::string_view, std::int64_t n) { tell("cleared", n); },
                     .on_dropped = [&](const QueueItem& one, std::int64_t n) { tell("-" + item_id(one.seq), n); },
                     .on_removed = [&](const QueueItem& one, std::int64_t n) { tell("x " + item_id(one.seq), n); }}});
  const auto perform = [&](const QueueStep& step) {
    using Kind = QueueStep::Kind;
    switch (step.kind) {
      case Kind::kAppend:
      case Kind::kAppendAgain:
        must(runtime.enqueue(step.item));
        return;
      case Kind::kDequeue:
        must(runtime.try_dequeue());
        return;
      case Kind::kConsume:
        must(runtime.consume_items(step.n));
        return;
      case Kind::kRemove:
        must(runtime.remove_item(step.id));
        return;
      case Kind::kClear:
        must(runtime.clear("error"));
        return;
      case Kind::kBlock:
        runtime.reset_blocked_state();
        must(runtime.try_dequeue("streaming"));
        return;
    }
  };
  for (int i = 0; i < random_operations(); ++i) {
    const QueueStep step = model.any_step(rng);
    told.clear();
    perform(step);
    ASSERT_EQ(told, model.apply(step)) << "operation " << i << " of seed 22";
  }
}

TEST_P(Conversations, AreRepairedWhereTheyContradictThemselves) {
  append("a");
  append("b");
  append("c");
  const auto stored = must(store().read_conversation(name_));
  ASSERT_TRUE(stored.has_value());
  ConversationStep damage{.name = name_, .expected_revision = stored->revision, .head = "no head"};
  damage.items.emplace_back(2, "no item");
  damage.removed_bodies.push_back(3);
  ASSERT_EQ(must(store().put_conversation(damage)), ConversationApplied::kDone);
  EXPECT_EQ(refusal(DequeueItems{}), ErrorCode::kStoreDamaged);
  const auto found = must(queue().fsck(FsckMode::kCheck));
  EXPECT_EQ(std::ranges::count(found, "conversation_wrong", &Finding::code), 4);
  const auto repaired = must(queue().fsck(FsckMode::kRepair));
  EXPECT_TRUE(std::ranges::all_of(repaired, &Finding::repaired));
  EXPECT_EQ(dequeue(), "batch-1: a");
  EXPECT_EQ(append("d").id, "q-4");
}

}  // namespace
}  // namespace drover::test
