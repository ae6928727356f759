#include "core/conversation.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "support/queue_model.h"

namespace drover {
namespace {

constexpr Time kConversationStart{Millis{1'000'000}};

class ConversationRules : public ::testing::Test {
 protected:
  ConversationState state{.name = {"ada", "chat"}};
  ConversationContext context{.clocks = {.wall = kConversationStart, .steady = Millis{5'000}, .boot = "b1"},
                              .new_lease_id = "lease-1",
                              .body_bytes_max = 100};
  std::vector<EventDraft> events;

  Result<ConversationReply> try_act(const ConversationAct& act) {
    auto change = decide(state, act, context);
    if (!change) return std::unexpected(change.error());
    if (!change->changes_nothing) {
      state = change->next;
      ++state.revision;
    }
    events = change->events;
    return change->reply;
  }
  ConversationReply act(const ConversationAct& act) {
    auto reply = try_act(act);
    EXPECT_TRUE(reply.has_value()) << (reply ? "" : reply.error().message);
    return reply.value_or(ConversationReply());
  }
  ErrorCode refusal(const ConversationAct& act) {
    const auto reply = try_act(act);
    return reply ? ErrorCode::kInternal : reply.error().code;
  }
  ConversationReply append(const std::string& key, const std::string& kind = "message") {
    return act(AppendItem{.item = {.item_key = key, .kind = kind}});
  }
  void pass(Millis by) {
    context.clocks.wall += by;
    context.clocks.steady += by;
  }
  static MirrorOp op(MirrorOp::Kind kind, std::vector<std::string> keys, const std::string& batch = "",
                     bool redeliver = false) {
    return {.kind = kind, .item_keys = std::move(keys), .batch_key = batch, .redeliver = redeliver};
  }
  static MirrorOp enqueued(const std::string& key) {
    return {.kind = MirrorOp::Kind::kEnqueue, .item = {.item_key = key, .kind = "message"}};
  }
  std::string keys() {
    std::string found;
    for (const ItemHead& item : state.items) {
      if (item.place == ItemHead::Place::kGone) continue;
      found += item.item.item_key + (item.place == ItemHead::Place::kHeld ? "* " : " ");
    }
    return found;
  }
};

TEST_F(ConversationRules, AnAnswerThatChangesNothingIsNotWritten) {
  EXPECT_TRUE(decide(state, DequeueItems{}, context)->changes_nothing);
  append("a");
  EXPECT_TRUE(decide(state, AppendItem{.item = {.item_key = "a", .kind = "message"}}, context)->changes_nothing);
  EXPECT_TRUE(decide(state, AckBatch{.batch_id = "batch-9"}, context)->changes_nothing);
  EXPECT_FALSE(decide(state, DequeueItems{}, context)->changes_nothing);
}

TEST_F(ConversationRules, KeysOfTheLastItemsThatLeftAreRemembered) {
  for (std::size_t i = 0; i <= kGoneItemsMax; ++i) {
    append("k" + std::to_string(i));
    act(DequeueItems{});
  }
  EXPECT_EQ(state.items.size(), kGoneItemsMax);
  EXPECT_TRUE(append("k1").replayed);
  EXPECT_FALSE(append("k0").replayed) << "the oldest is forgotten";
}

TEST_F(ConversationRules, DeadlinesGoByTheSteadyClockAndAcrossARebootByTheWallClock) {
  const StoreDeadline deadline = StoreDeadline::after(context.clocks, Millis{100});
  StoreClocks later = context.clocks;
  later.wall += Millis{1'000'000};
  EXPECT_FALSE(deadline.has_passed(later)) << "somebody set the clock";
  later.steady += Millis{100};
  EXPECT_TRUE(deadline.has_passed(later));
  later = context.clocks;
  later.boot = "b2";
  later.steady = Millis{0};
  EXPECT_FALSE(deadline.has_passed(later));
  later.wall += Millis{100};
  EXPECT_TRUE(deadline.has_passed(later));
}

TEST_F(ConversationRules, TooManyBatchesMustBeAcknowledgedFirst) {
  for (std::size_t i = 0; i <= kHeldBatchesMax; ++i) append("k" + std::to_string(i), "approval_result");
  for (std::size_t i = 0; i < kHeldBatchesMax; ++i) act(DequeueItems{.batch_key = "b" + std::to_string(i)});
  EXPECT_EQ(refusal(DequeueItems{.batch_key = "more"}), ErrorCode::kLimitExceeded);
  EXPECT_TRUE(act(DequeueItems{}).batch.has_value()) << "one that is not kept needs no place";
}

TEST_F(ConversationRules, ABodyAndAllBodiesTogetherAreBounded) {
  context.body_bytes_max = 40'000'000;
  const auto sized = [](const std::string& key, std::size_t bytes) {
    return AppendItem{
        .item = {.item_key = key, .kind = "message", .body = R"({"a":")" + std::string(bytes, 'x') + "\"}"}};
  };
  EXPECT_EQ(refusal(sized("a", 50'000'000)), ErrorCode::kPayloadTooLarge);
  act(sized("a", 39'000'000));
  EXPECT_EQ(refusal(sized("b", 39'000'000)), ErrorCode::kLimitExceeded);
  act(TakeConsumer{});
  MirrorOp large = enqueued("c");
  large.item = sized("c", 39'000'000).item;
  EXPECT_EQ(act(MirrorItems{.lease_id = "lease-1", .ops = {large, enqueued("d")}}).last_op, 2);
  EXPECT_EQ(keys(), "a d ") << "what does not fit is dropped, and does not hold up the rest";
}

TEST_F(ConversationRules, AMirrorTakesAwayWhatWaitsAndNothingElse) {
  act(TakeConsumer{});
  act(MirrorItems{.lease_id = "lease-1",
                  .ops = {enqueued("a"), enqueued("b"), enqueued("c"), enqueued("a"),
                          op(MirrorOp::Kind::kDequeue, {"a", "unknown"}, "turn-1", true),
                          op(MirrorOp::Kind::kRemove, {"a"}), op(MirrorOp::Kind::kDrop, {"b"})}});
  EXPECT_EQ(keys(), "a* c ");
  act(MirrorItems{.lease_id = "lease-1", .from_op = 8, .ops = {op(MirrorOp::Kind::kAck, {}, "turn-2")}});
  EXPECT_EQ(keys(), "a* c ") << "there is no such batch";
  act(MirrorItems{.lease_id = "lease-1", .from_op = 9, .ops = {op(MirrorOp::Kind::kAck, {}, "turn-1")}});
  EXPECT_EQ(keys(), "c ");
}

TEST_F(ConversationRules, ANewHolderMayTakeWhatTheOldOneHadOneByOne) {
  act(TakeConsumer{});
  act(MirrorItems{.lease_id = "lease-1",
                  .ops = {enqueued("a"), enqueued("b"), op(MirrorOp::Kind::kDequeue, {"a", "b"}, "turn-1", true)}});
  pass(kConsumerLease);
  context.new_lease_id = "lease-2";
  act(TakeConsumer{});
  act(MirrorItems{.lease_id = "lease-2",
                  .ops = {op(MirrorOp::Kind::kDequeue, {"a"}), op(MirrorOp::Kind::kRemove, {"b"})}});
  EXPECT_EQ(keys(), "");
  act(MirrorItems{.lease_id = "lease-2", .from_op = 3, .ops = {enqueued("c"), op(MirrorOp::Kind::kDequeue, {"c"})}});
  EXPECT_TRUE(state.batches.empty());
}

TEST_F(ConversationRules, ATurnOfADeadConsumerIsHandedToWhoAsks) {
  act(TakeConsumer{});
  act(MirrorItems{.lease_id = "lease-1", .ops = {enqueued("a"), op(MirrorOp::Kind::kDequeue, {"a"}, "turn-1", true)}});
  EXPECT_EQ(refusal(AckBatch{.batch_id = "batch-1"}), ErrorCode::kWrongState) << "it is its holder's";
  pass(kConsumerLease);
  const ConversationReply again = act(DequeueItems{});
  EXPECT_TRUE(again.batch->delivered_again);
  EXPECT_EQ(again.batch->batch_id, "batch-1");
  EXPECT_EQ(keys(), "");
}

TEST_F(ConversationRules, ClearingTakesWhatIsToBeHandedOutAgain) {
  append("a");
  act(DequeueItems{.batch_key = "b1", .redeliver = true});
  append("b");
  pass(kBatchKept);
  EXPECT_EQ(act(ClearItems{.reason = "error"}).cleared.size(), 2U);
  EXPECT_EQ(keys(), "");
}

TEST_F(ConversationRules, NothingIsDroppedFromUnderAConsumer) {
  act(AppendItem{.item = {.item_key = "a", .kind = "message"},
                 .limits = QueueLimits{.max_items = 1, .hard_max_items = 2}});
  act(TakeConsumer{});
  EXPECT_FALSE(append("b").dropped.has_value());
  EXPECT_TRUE(append("c").refused);
}

// DROVER_TEST_PERCENT=5000 makes a million operations.
int random_operations() {
  const char* percent = std::getenv("DROVER_TEST_PERCENT");
  return percent == nullptr ? 20'000 : 200 * std::max(1, std::atoi(percent));
}

ConversationAct act_of(const test::QueueStep& step, bool kept, int number) {
  using Kind = test::QueueStep::Kind;
  const std::string key = kept ? "b" + std::to_string(number) : "";
  switch (step.kind) {
    case Kind::kAppend:
    case Kind::kAppendAgain:
      return AppendItem{.item = step.item};
    case Kind::kDequeue:
      return DequeueItems{.batch_key = key, .instance = "one"};
    case Kind::kConsume:
      return DequeueItems{.n = step.n, .batch_key = key, .instance = "one"};
    case Kind::kRemove:
      return RemoveItem{.id = step.id};
    case Kind::kClear:
      return ClearItems{.reason = "error"};
    case Kind::kBlock:
      return DequeueItems{.blocked_reason = "streaming"};
  }
  return AckBatch{};
}

TEST_F(ConversationRules, DoWhatAModelDoesForAnyOperations) {
  SeededRng rng(21);
  test::QueueModel model{QueueLimits()};
  const int operations = random_operations();
  for (int i = 0; i < operations; ++i) {
    if (i % 1'000 == 0) {
      state = {.name = {"ada", "chat"}};
      state.limits.max_items = static_cast<int>(1 + rng.below(12));
      state.limits.hard_max_items = state.limits.max_items + static_cast<int>(rng.below(12));
      model = test::QueueModel(state.limits);
    }
    const test::QueueStep step = model.any_step(rng);
    const ConversationAct asked = act_of(step, rng.below(2) == 0, i);
    const ConversationReply reply = act(asked);
    ASSERT_EQ(test::trace_of(step, reply), model.apply(step)) << "operation " << i << " of seed 21";
    if (reply.batch && !std::get<DequeueItems>(asked).batch_key.empty()) {
      const ConversationReply again = act(asked);
      ASSERT_TRUE(again.replayed) << "operation " << i;
      ASSERT_EQ(test::trace_of(step, again), test::trace_of(step, reply)) << "a repeat gets the same, operation " << i;
    }
    std::string waiting;
    for (const ItemHead& item : state.items) {
      if (item.place == ItemHead::Place::kQueued) waiting += item_id(item.seq) + " ";
    }
    ASSERT_EQ(waiting, model.waiting()) << "operation " << i;
  }
}

TEST_F(ConversationRules, IdsAreReadAsTheyAreWritten) {
  EXPECT_EQ(parse_item_id("q-12"), 12);
  for (const std::string_view wrong :
       {"q-", "q-0", "q-01", "q-1x", "12", "batch-1", "q--1", "q-99999999999999999999"}) {
    EXPECT_FALSE(parse_item_id(wrong).has_value()) << wrong;
  }
  EXPECT_EQ(parse_batch_id(batch_id(7)), 7);
  for (const auto kind : {MirrorOp::Kind::kEnqueue, MirrorOp::Kind::kClear}) {
    EXPECT_EQ(parse_mirror_op(name_of(kind)), kind);
  }
  EXPECT_FALSE(parse_mirror_op("no").has_value());
}

TEST_F(ConversationRules, TextsComeBackAsTheyWere) {
  append("a");
  NewQueueItem scoped{.item_key = "b", .kind = "approval_result", .agent_id = "x", .conversation_id = "y"};
  act(AppendItem{.item = scoped});
  act(DequeueItems{.batch_key = "b1", .instance = "me", .redeliver = true});
  pass(kBatchKept);
  act(TakeConsumer{.take_key = "t"});
  ConversationState read{.name = state.name, .revision = state.revision};
  ASSERT_TRUE(read_head(head_text(state), read).has_value());
  for (const ItemHead& item : state.items) {
    ItemHead head{.seq = item.seq};
    ASSERT_TRUE(read_item(item_text(item), head).has_value());
    read.items.push_back(head);
  }
  EXPECT_EQ(read, state);
  ItemHead item;
  EXPECT_FALSE(read_item(R"({"item_key":"a","kind":"m","at":1,"bytes":0,"place":9,"batch":0,"mirrored":false})", item));
  EXPECT_FALSE(read_head("{}", read).has_value());
}

TEST_F(ConversationRules, WhatIsWrongIsMended) {
  for (const std::string key : {"a", "b", "c", "d"}) append(key);
  act(DequeueItems{.n = 1, .batch_key = "b1"});
  const std::map<std::int64_t, std::int64_t> bodies{{1, 2}, {2, 2}, {3, 2}, {4, 2}};
  EXPECT_TRUE(mend_conversation(state, bodies).empty());
  ConversationState damaged = state;
  damaged.items[0].batch = 7;  // and the batch has no items
  damaged.items[1].bytes = 9;
  damaged.items[2].item.item_key = "b";
  damaged.next_seq = 2;
  const auto wrong = mend_conversation(damaged, {{1, 2}, {2, 2}, {3, 2}});
  EXPECT_EQ(wrong.size(), 7U);
  EXPECT_TRUE(mend_conversation(damaged, {{1, 2}, {2, 2}, {3, 2}}).empty());
  EXPECT_EQ(damaged.queued, 2);
  EXPECT_EQ(damaged.next_seq, 3);
}

TEST_F(ConversationRules, OnlyEmptyOnesAreForgotten) {
  append("a");
  EXPECT_FALSE(is_forgettable(state, Time::max()));
  act(DequeueItems{.batch_key = "b1"});
  EXPECT_FALSE(is_forgettable(state, Time::max())) << "a batch is out";
  act(AckBatch{.batch_id = "batch-1"});
  EXPECT_FALSE(is_forgettable(state, kConversationStart - Millis{1}));
  EXPECT_TRUE(is_forgettable(state, kConversationStart));
}

}  // namespace
}  // namespace drover
