// A dump of one store goes into an empty one of another kind, and comes out again as it was.
#include "engine/transfer.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "drover/conversation.h"

#include <algorithm>
#include <ranges>

#include "differential/stores.h"
#include "engine/dump_parts.h"
#include "engine/health.h"
#include "engine/local_administration.h"
#include "engine/sweepers.h"
#include "support/locked_rng.h"
#include "support/manual_clock.h"
#include "support/must.h"

namespace drover::test {
namespace {

using Lines = std::vector<std::string>;

constexpr std::string_view kPolicy =
    R"({"gates":{"lock:deploy":{"permits":2},"type:work":{"permits":50}},"owners":{"ann":{"weight":3}},)"
    R"("queues":{"work":{"rate":"600/min","burst":50}},"types":{"work":{"max_attempts":3,"retry":"fixed:1m"}}})";

// A store with an engine on it.
struct Side {
  Side(std::unique_ptr<Store> opened, std::uint64_t seed) : store(std::move(opened)), rng(seed), engine(*store, rng) {}

  std::unique_ptr<Store> store;
  LockedRng rng;
  Engine engine;
};

Lines dump_of(Side& side) {
  std::string text;
  LocalAdministration administration(*side.store, side.engine, side.rng);
  must(export_dump(administration, {.text = [&](std::string_view part) -> Status {
                                      text += part;
                                      return {};
                                    },
                                    .progress = [](std::int64_t, std::int64_t) {}}));
  Lines lines;
  for (const auto line : text | std::views::split('\n')) lines.emplace_back(line.begin(), line.end());
  lines.pop_back();  // behind the last end
  return lines;
}

// All but the header, which has the time.
Lines body_of(const Lines& lines) {
  return {lines.begin() + 1, lines.end()};
}

Status import_into(Side& side, const Lines& lines) {
  DumpImport import(*side.store, side.engine, side.rng);
  if (auto begun = import.begin(); !begun) return begun;
  for (const std::string& line : lines) {
    if (auto taken = import.take(line); !taken) return taken;
  }
  const auto finished = import.finish();
  return finished ? Status() : Status(std::unexpected(finished.error()));
}

StoreMark seen_of(Side& side) {
  must(side.store->state());  // looks
  return side.store->seen();
}

class TransferTest : public testing::Test {
 protected:
  std::unique_ptr<Side> on_memory() { return std::make_unique<Side>(open_memory(clock_), ++seed_); }
  std::unique_ptr<Side> on_redis() { return std::make_unique<Side>(open_on_redis(clock_), ++seed_); }

  void pass(Millis by) { clock_.advance(by); }

  static std::vector<ClaimedTask> claim(Side& side, int n, const std::string& queue = "work") {
    return must(side.engine.claim({.worker_id = "w:1:x", .serves = {{.queue = queue, .type = {}}}, .n = n}));
  }

  // Tasks in every state but running, with all that a task can have.
  void fill(Side& side) {
    Engine& engine = side.engine;
    must(engine.apply_config(JsonText(kPolicy), 0));
    must(engine.set_gate({.gate = "queue:later", .what = GateOrder::Close{}, .why = "lunch", .by = "ann@host"}));
    const TaskId first = must(engine.enqueue_one({.type = "work",
                                                  .owner = "ann",
                                                  .payload = R"({"z":1e400,"a":"\u00e9 \"q\"","n":0.10})",
                                                  .tags = {"x", "y"},
                                                  .request_id = "r1",
                                                  .locks = {"deploy"},
                                                  .cost = 2}))
                             .id;
    const std::vector<TaskSpec> more{{.type = "work", .prompt = "do\nit", .depends_on = {first}},
                                     {.type = "work",
                                      .priority = 1,
                                      .dedupe_key = "k",
                                      .dedupe = DedupeMode::kSingleFlight,
                                      .deadline = Millis{900'000}},
                                     {.type = "work", .delay = Millis{3'600'000}},
                                     {.type = "work", .deadline = Millis{60'000}, .fallback_result = "{}"},
                                     {.type = "other", .queue = "later", .payload = "null"}};
    must(engine.enqueue(more));
    for (const ClaimedTask& task : claim(side, 1)) {
      must(engine.progress(task.lease, {.percent = 30, .message = "a third"}));
      must(engine.checkpoint(task.lease, R"({"at":3})"));
      const std::vector<LogChunk> log{{LogStream::kOut, "hello\n"}, {LogStream::kErr, "wörld\n"}};
      must(engine.append_log(task.lease, log));
      // More than is kept: the middle is left out.
      const std::vector<LogChunk> flood(40, {LogStream::kOut, std::string(32'000, 'f')});
      must(engine.append_log(task.lease, flood));
      must(engine.fail(task.lease, {.message = "it | broke\nbadly", .exit_code = 3, .note = "look there"}));
    }
    pass(Millis{61'000});  // a deadline, a retry
    must(Sweepers(engine).run_once());
    for (int i = 0; i < 3; ++i) {
      pass(Millis{1'000});
      for (const ClaimedTask& task : claim(side, 1)) {
        const std::string big = '"' + std::string(i == 0 ? 2'000 : 10, 'r') + '"';
        must(engine.complete(task.lease, {.result = big, .exit_code = 0}));
      }
    }
    for (int i = 0; i < 12; ++i)
      must(engine.enqueue_one({.type = "work", .owner = i % 3 == 0 ? "ann" : "bob", .priority = i % 2}));
    must(engine.cancel(must(engine.enqueue_one({.type = "work"})).id, "no \"need\""));
    for (const ClaimedTask& task : claim(side, 1)) must(engine.release(task.lease));
    must(Sweepers(engine).fold_history());
    must(engine.save_view("ann", {.name = "mine \"é\"", .query = "state=failed&owner=ann"}));
    must(engine.save_view(std::nullopt, {.name = "all", .query = ""}));
    const PastAlert past{{.subject = "queue:work", .detail = "waited"}, clock_.wall()};
    must(side.store->put_document(DocumentKind::kPastAlerts, past_alerts_json({past}), 0, {}));
    for (const ClaimedTask& task : claim(side, 2)) {
      must(engine.fail(task.lease, {.error_class = ErrorClass::kInvalid}));
      must(engine.escalate(task.lease.task, {.to = "ada", .verdict = {.by = "bob", .why = "look"}}));
    }
    fill_conversations(engine.conversation_queue());
  }

  // Items that wait, that a batch holds and that have left; one larger than a part of a dump; a consumer.
  static void fill_conversations(ConversationQueue& queue) {
    const ConversationName talk{"ann", "talk"};
    for (int i = 0; i < 5; ++i) {
      const NewQueueItem item{
          .item_key = "k" + std::to_string(i), .kind = "approval_result", .agent_id = "a|b", .body = R"({"n":0.10})"};
      must(queue.act(talk, AppendItem{.item = item}));
    }
    must(queue.act(talk, DequeueItems{}));
    must(queue.act(talk, DequeueItems{.batch_key = "b", .redeliver = true}));
    const ConversationName large{"bob", "large"};
    for (int i = 0; i < 3; ++i) {
      const std::string body = R"({"t":")" + std::string(600'000, 'x') + "\"}";
      must(
          queue.act(large, AppendItem{.item = {.item_key = "l" + std::to_string(i), .kind = "message", .body = body}}));
    }
    const auto lease = must(queue.act(large, TakeConsumer{})).lease_id;
    must(queue.act(large, MirrorItems{.lease_id = *lease,
                                      .ops = {{.kind = MirrorOp::Kind::kDequeue,
                                               .item_keys = {"l0"},
                                               .batch_key = "turn-1",
                                               .redeliver = true}}}));
  }

  // What would be claimed, in order.
  static std::vector<std::string> order_of(Side& side) {
    std::vector<std::string> ids;
    for (const ClaimedTask& task : claim(side, 100)) ids.push_back(task.task.id.to_string());
    return ids;
  }

  ManualClock clock_;
  std::uint64_t seed_ = 0;
};

TEST_F(TransferTest, GoesThroughBothStoresUnchanged) {
  const auto embedded = on_memory();
  fill(*embedded);
  const Lines first = dump_of(*embedded);
  ASSERT_GT(first.size(), 60u);
  const auto is_escalated = [](const std::string& line) {
    return line.find(R"("escalation":["ada","bob","look",)") != std::string::npos;
  };
  ASSERT_TRUE(std::ranges::any_of(first, is_escalated));
  const auto is_document = [](const std::string& line) { return line.starts_with(R"({"document":)"); };
  ASSERT_EQ(std::ranges::count_if(first, is_document), std::ssize(kDumpedDocuments));

  const auto redis = on_redis();
  must(import_into(*redis, first));
  EXPECT_EQ(must(redis->store->fsck(FsckMode::kCheck)).size(), 0u);
  EXPECT_EQ(body_of(dump_of(*redis)), body_of(first));

  const auto again = on_memory();
  must(import_into(*again, dump_of(*redis)));
  EXPECT_EQ(must(again->store->fsck(FsckMode::kCheck)).size(), 0u);
  EXPECT_EQ(body_of(dump_of(*again)), body_of(first));
}

TEST_F(TransferTest, ConversationsGoOnWhereTheyWere) {
  const auto embedded = on_memory();
  fill(*embedded);
  const auto redis = on_redis();
  must(import_into(*redis, dump_of(*embedded)));
  ConversationQueue& queue = redis->engine.conversation_queue();
  EXPECT_EQ(must(queue.act({"ann", "talk"}, DequeueItems{})).batch->batch_id, "batch-3") << "the second is worked on";
  EXPECT_TRUE(must(queue.act({"ann", "talk"}, AppendItem{.item = {.item_key = "k0", .kind = "message"}})).replayed);
  const auto again = must(queue.act({"bob", "large"}, DequeueItems{}));
  EXPECT_TRUE(again.batch->delivered_again) << "no lease is carried over";
  EXPECT_EQ(again.batch->items[0].item.body.size(), 600'008U);
  EXPECT_EQ(must(queue.act({"bob", "large"}, DequeueItems{})).batch->items.size(), 2U);
}

TEST_F(TransferTest, AQuestionOfAGateIsAnsweredInTheStoreThatTookTheDump) {
  const auto from = on_memory();
  must(from->engine.apply_config(R"({"gates":{"all":{"budgets":[{"usd":1,"per":"day","on_breach":"ask"}]}}})", 0));
  must(from->engine.enqueue_one({.type = "work", .tree_budget = R"({"usd":9})"}));
  const Lease lease = claim(*from, 1).at(0).lease;
  const RunReport report{.usage = Usage{.cost = 2'000'000, .basis = CostBasis::kReported}};
  const auto stop = must(from->engine.report(lease, report)).stop;
  ASSERT_TRUE(stop);
  const Failure waits{.error_class = ErrorClass::kBudgetExceeded, .message = stop->why, .waits_at = stop->gate};
  const Settlement end{.lease = lease, .end = waits, .report = report};
  must(std::move(from->engine.settle(std::span(&end, 1)).at(0)));
  const Lines dump = dump_of(*from);
  const auto redis = on_redis();
  must(import_into(*redis, dump));
  EXPECT_EQ(body_of(dump_of(*redis)), body_of(dump));
  const auto questions = must(redis->engine.questions({.state = QuestionState::kOpen}, 9, std::nullopt)).questions;
  ASSERT_EQ(questions.size(), 1U);
  must(redis->engine.answer(questions[0].id, {.value = R"("raise")", .by = "ann"}));
  for (const BudgetStatus& budget : must(redis->engine.budgets())) {
    EXPECT_EQ(budget.spent, 2'000'000) << budget.gate;
    EXPECT_EQ(budget.limit(), budget.gate == "all" ? 2'000'000 : 9'000'000) << budget.gate;
  }
  EXPECT_EQ(must(redis->store->fsck(FsckMode::kCheck)).size(), 0u);
}

// A budget that is raised, one that is used up, a task with a budget of its own, and questions that are open and
// answered. What ran is taken back, so nothing is set aside.
TEST_F(TransferTest, BudgetsAndQuestionsGoThroughBothStores) {
  constexpr std::string_view kBudgets = R"({"types":{"work":{"budget_per_run":{"tokens":100,"usd":0.5}}},)"
                                        R"("owners":{"default":{"budgets":[{"tokens":1000,"per":"day"},{"usd":2}]}}})";
  const auto embedded = on_memory();
  Engine& engine = embedded->engine;
  must(engine.apply_config(JsonText(kBudgets), 0));
  must(engine.enqueue(std::vector<TaskSpec>(4, {.type = "work", .owner = "ann", .budget = R"({"tokens":5000})"})));
  const auto used = [](std::int64_t tokens) {
    return RunReport{
        .usage = Usage{.tokens = {.output = tokens}, .turns = 1, .cost = 300'000, .basis = CostBasis::kReported}};
  };
  auto running = claim(*embedded, 4);
  ASSERT_EQ(running.size(), 4u);
  must(engine.report(running[0].lease, used(700)));
  must(engine.settle(std::vector{Settlement{.lease = running[1].lease, .end = Completion{}, .report = used(80)}})[0]);
  EXPECT_TRUE(must(engine.report(running[0].lease, used(900))).stop);
  must(engine.raise_budget({.gate = "owner:ann", .unit = BudgetUnit::kTokens, .by_amount = 500, .by = "ada"}));
  const QuestionId answered = must(engine.ask(running[2].lease, {.text = "which | one?", .options = {"a", "b"}})).id;
  must(engine.answer(answered, {.value = R"("b")", .by = "ada"}));
  must(engine.ask(running[3].lease, {.text = "and \"this\"?", .default_answer = "1", .expires = Millis{90'000}}));
  must(engine.suspend(running[3].lease, {}));
  for (const std::size_t i : {0u, 2u}) must(engine.release(running[i].lease));

  const Lines first = dump_of(*embedded);
  const auto redis = on_redis();
  must(import_into(*redis, first));
  const auto again = on_memory();
  must(import_into(*again, dump_of(*redis)));
  const auto budgets = must(engine.budgets());
  ASSERT_EQ(budgets.size(), 4u) << "those of owner:*, and what Ann has of them";
  EXPECT_EQ(budgets[2].spent, 980);
  EXPECT_EQ(budgets[2].raised, 500);
  const auto questions = must(engine.questions({}, 10, {})).questions;
  ASSERT_EQ(questions.size(), 2u);
  for (Side* side : {redis.get(), again.get()}) {
    EXPECT_EQ(must(side->store->fsck(FsckMode::kCheck)).size(), 0u);
    EXPECT_EQ(body_of(dump_of(*side)), body_of(first));
    EXPECT_EQ(must(side->engine.questions({}, 10, {})).questions, questions);
    EXPECT_EQ(must(side->engine.budgets()), budgets);
    EXPECT_EQ(claim(*side, 10).size(), 2u);
  }
}

TEST_F(TransferTest, WorkGoesOnInTheSameOrder) {
  const auto embedded = on_memory();
  fill(*embedded);
  const Lines dump = dump_of(*embedded);
  const auto redis = on_redis();
  must(import_into(*redis, dump));
  const auto copy = on_memory();
  must(import_into(*copy, dump));
  const auto order = order_of(*copy);
  EXPECT_GT(order.size(), 5u);
  EXPECT_EQ(order_of(*redis), order);
  // The request id is still taken, and new numbers are new.
  EXPECT_EQ(code_of(redis->engine.enqueue_one({.type = "work", .owner = "ann", .request_id = "r1"})),
            ErrorCode::kRequestConflict);
  for (Side* side : {redis.get(), copy.get()}) {
    const std::int64_t before = must(side->store->last_event_seq());
    must(side->engine.enqueue_one({.type = "work"}));
    EXPECT_EQ(must(side->store->last_event_seq()), before + 1);
    EXPECT_EQ(must(side->store->fsck(FsckMode::kCheck)).size(), 0u);
  }
}

TEST_F(TransferTest, MoreTasksThanOnePieceHolds) {
  const auto from = on_memory();
  for (int batch = 0; batch < 5; ++batch) {
    must(from->engine.enqueue(std::vector<TaskSpec>(150, {.type = "work", .tags = {"many"}})));
  }
  for (const ClaimedTask& task : claim(*from, 300)) must(from->engine.complete(task.lease, {}));
  const Lines dump = dump_of(*from);
  const auto redis = on_redis();
  must(import_into(*redis, dump));
  EXPECT_EQ(must(redis->store->fsck(FsckMode::kCheck)).size(), 0u);
  EXPECT_EQ(body_of(dump_of(*redis)), body_of(dump));
}

TEST_F(TransferTest, WhatRanIsTakenBack) {
  for (const bool to_redis : {false, true}) {
    const auto from = on_memory();
    must(from->engine.enqueue_one({.type = "work"}));
    ASSERT_EQ(claim(*from, 1).size(), 1u);
    const auto into = to_redis ? on_redis() : on_memory();
    must(import_into(*into, dump_of(*from)));
    EXPECT_EQ(must(into->store->fsck(FsckMode::kCheck)).size(), 0u);
    const auto tasks = must(into->engine.list({}, 10, {})).tasks;
    ASSERT_EQ(tasks.size(), 1u);
    EXPECT_EQ(tasks[0].state, TaskState::kStalled);
    EXPECT_EQ(tasks[0].stalls, 1);
    EXPECT_EQ(tasks[0].attempts, 0);
    EXPECT_EQ(claim(*into, 1).size(), 1u);
  }
}

// A client of the dumped store moves on to the one that took the dump.
TEST_F(TransferTest, WhoeverSawMoreThanTheDumpHasFindsOut) {
  for (const bool to_redis : {false, true}) {
    const auto from = to_redis ? on_memory() : on_redis();
    must(from->engine.enqueue_one({.type = "work"}));
    const Lines dump = dump_of(*from);
    const StoreMark at_the_dump = seen_of(*from);
    must(from->engine.enqueue_one({.type = "work"}));
    const StoreMark later = seen_of(*from);

    const auto into = to_redis ? on_redis() : on_memory();
    LocalAdministration administration(*into->store, into->engine, into->rng);
    must(administration.create_token({.role = Role::kAdmin, .by = "ann"}));
    ASSERT_EQ(must(into->store->last_event_seq()), 1);
    must(import_into(*into, dump));
    const StoreState state = must(into->store->state());
    EXPECT_EQ(state.loss, std::nullopt) << "the store itself has lost nothing";
    EXPECT_EQ(state.extent.epochs.back().cause, Epoch::Cause::kRestored);
    EXPECT_EQ(seen_of(*into).store, later.store) << "it is the same store, by its name";
    EXPECT_EQ(must(into->store->hear(at_the_dump)), false);
    EXPECT_EQ(claim(*into, 1).size(), 1u);
    EXPECT_EQ(must(into->store->hear(later)), true);
    EXPECT_EQ(must(into->store->state()).loss, (Loss{2, 2}));
  }
}

// Retention had taken the first events of the dumped store.
TEST_F(TransferTest, EventsKeepTheirNumbersOrFollowThoseOfTheStore) {
  const auto from = on_memory();
  for (int i = 0; i < 3; ++i) must(from->engine.enqueue_one({.type = "work"}));
  must(from->store->expire({.events_max = 1}, 100));
  const Lines dump = dump_of(*from);
  for (const bool has_token : {false, true}) {
    for (const auto& into : {on_memory(), on_redis()}) {
      LocalAdministration administration(*into->store, into->engine, into->rng);
      if (has_token) must(administration.create_token({.role = Role::kAdmin, .by = "ann"}));
      must(import_into(*into, dump));
      EXPECT_EQ(must(into->store->last_event_seq()), has_token ? 2 : 3);
      EXPECT_EQ(must(into->store->fsck(FsckMode::kCheck)).size(), 0u);
      EXPECT_EQ(must(into->store->hear({seen_of(*from).store, seen_of(*from).mark})), false) << "nothing is gone";
    }
  }
}

TEST_F(TransferTest, AnEpochThatBeganMeanwhileEndsTheImport) {
  for (const auto& into : {on_memory(), on_redis()}) {
    const std::vector<Epoch> before = must(into->store->state()).extent.epochs;
    must(into->store->accept_regression());
    EXPECT_EQ(must(into->store->restore_epochs(before)), false);
    EXPECT_EQ(must(into->store->state()).extent.epochs.size(), 2u);
  }
}

TEST_F(TransferTest, OnlyAnEmptyStoreTakesADump) {
  const auto from = on_memory();
  const Lines dump = dump_of(*from);
  for (const bool to_redis : {false, true}) {
    const auto into = to_redis ? on_redis() : on_memory();
    must(into->engine.enqueue_one({.type = "work"}));
    const Status refused = import_into(*into, dump);
    ASSERT_FALSE(refused.has_value());
    EXPECT_EQ(refused.error().code, ErrorCode::kWrongState);
    EXPECT_EQ(claim(*into, 1).size(), 1u);  // and is none the worse for it
  }
}

TEST_F(TransferTest, HalfADumpIsNotWorkedOn) {
  const auto from = on_memory();
  for (int i = 0; i < 3; ++i) must(from->engine.enqueue_one({.type = "work"}));
  Lines dump = dump_of(*from);
  dump.pop_back();
  for (const bool to_redis : {false, true}) {
    const auto into = to_redis ? on_redis() : on_memory();
    const Status cut_off = import_into(*into, dump);
    ASSERT_FALSE(cut_off.has_value());
    EXPECT_EQ(cut_off.error().message, "the dump is cut off: its end is missing");
    EXPECT_EQ(claim(*into, 1).size(), 0u);
    const Status again = import_into(*into, dump);
    ASSERT_FALSE(again.has_value());
    EXPECT_TRUE(again.error().message.contains("was interrupted")) << again.error().message;
  }
}

// One entry may take back what another has booked, as a cost from the table that the agent corrects on the next day.
TEST_F(TransferTest, NobodyHasUsedLessThanNothing) {
  const auto entry = [](std::string day, std::int64_t turns) {
    const LedgerEntry booked{.key = {.day = std::move(day), .owner = "ann", .type = "work", .runner = "claude"},
                             .amounts = {.turns = turns}};
    return fmt::format(R"({{"usage":{}}})", to_dump(booked));
  };
  const auto from = on_memory();
  Lines good = dump_of(*from);
  good.insert(good.end() - 1, {entry("2026-11-17", 5), entry("2026-11-18", -2)});
  Lines bad = good;
  bad.insert(bad.end() - 1, entry("2026-11-19", -4));
  for (const bool to_redis : {false, true}) {
    const auto into = to_redis ? on_redis() : on_memory();
    must(import_into(*into, good));
    EXPECT_EQ(must(into->engine.usage({.by = {UsageDimension::kOwner}})).front().amounts.turns, 3);
    const auto other = to_redis ? on_redis() : on_memory();
    const Status refused = import_into(*other, bad);
    ASSERT_FALSE(refused);
    EXPECT_TRUE(refused.error().message.ends_with("the usage of owner ann and type work is negative"))
        << refused.error().message;
  }
}

TEST_F(TransferTest, WhatIsNoDumpLeavesTheStoreAsItWas) {
  const auto from = on_memory();
  must(from->engine.enqueue_one({.type = "work"}));
  for (const auto& into : {on_memory(), on_redis()}) {
    EXPECT_FALSE(import_into(*into, {"#!/usr/bin/env python3"}).has_value());
    EXPECT_FALSE(import_into(*into, {}).has_value());
    EXPECT_TRUE(must(into->engine.gates()).empty());
    EXPECT_TRUE(import_into(*into, dump_of(*from)).has_value());
  }
}

TEST_F(TransferTest, BadLinesAreNamed) {
  const auto from = on_memory();
  must(from->engine.enqueue_one({.type = "work"}));
  const Lines good = dump_of(*from);
  const auto refusal = [&](std::size_t at, const std::string& line) {
    Lines lines = good;
    lines.at(at) = line;
    const auto into = on_memory();
    const Status refused = import_into(*into, lines);
    return refused ? "taken" : refused.error().message;
  };
  EXPECT_EQ(refusal(0, good[1]), "line 1: this is not a dump: its header is missing");
  EXPECT_EQ(refusal(0, R"({"header":{"format":"drover dump","version":2}})"),
            "line 1: this version reads dumps of version 1");
  EXPECT_EQ(refusal(0, R"({"header":{"format":"drover dump","version":1,"last_event":0}})"),
            "line 1: epochs is missing");
  EXPECT_EQ(refusal(0, R"({"header":{"format":"drover dump","version":1,"last_event":0,"epochs":[]}})"),
            "line 1: a store has 1 to 1001 epochs");
  EXPECT_EQ(refusal(1, R"({"cow":1})"), "line 2: unknown kind \"cow\"");
  EXPECT_TRUE(refusal(1, "{").starts_with("line 2: "));
  EXPECT_TRUE(refusal(1, R"({"task":{"record":{"id":"x"}}})").starts_with("line 2: "));
  std::string odd = good[1];
  odd.replace(odd.find(R"("queue":"work")"), 14, R"("queue":"wo|k")");
  EXPECT_TRUE(refusal(1, odd).starts_with("line 2: ")) << refusal(1, odd);
  EXPECT_EQ(refusal(2, good[1]), "line 3: this task is in the dump twice");
  EXPECT_TRUE(refusal(2, good[3]).starts_with("line 3: the dump says that it has")) << refusal(2, good[3]);
}

}  // namespace
}  // namespace drover::test
