// The same damage to both stores is found under the same code, and mended or only told alike.
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <stdexcept>

#include "engine/engine.h"
#include "store/redis/redis_store.h"
#include "store/sqlite/sqlite_store.h"
#include "support/locked_rng.h"
#include "support/manual_clock.h"
#include "support/must.h"
#include "support/printers.h"
#include "support/redis_server.h"
#include "support/temp_dir.h"

namespace drover::test {
namespace {

enum class Cure { kRepaired, kReported, kReportedOnce };

// The hand of someone who damages keys of one store.
class RedisHand {
 public:
  RedisHand(std::string prefix, std::vector<TaskId> tasks)
      : key_("{" + std::move(prefix) + "}:"), tasks_(std::move(tasks)) {}

  // The key of that kind of the n-th task, from 1 on.
  [[nodiscard]] std::string key_of(const std::string& kind, std::size_t n) const {
    return kind + tasks_.at(n - 1).to_string();
  }
  // The words of a command, of which the second is a key.
  redis::Reply run(const std::vector<std::string>& words) const {
    redis::Command command(words.at(0), key_ + words.at(1));
    for (std::size_t i = 2; i < words.size(); ++i) command.add(words[i]);
    redis::Reply reply = shared_redis().run(command);
    if (reply.is_error()) throw std::runtime_error(std::string(reply.error_text()));
    return reply;
  }
  // A word of the first line of a record, from 0 on.
  void put_word(std::size_t n, std::size_t place, const std::string& word) const {
    edit(n, [&](std::string& record) {
      std::size_t from = 0;
      for (std::size_t i = 0; i < place; ++i) from = record.find(' ', from) + 1;
      record.replace(from, record.find_first_of(" \n", from) - from, word);
    });
  }
  // The first occurrence of a text in a record.
  void replace(std::size_t n, const std::string& from, const std::string& to) const {
    edit(n, [&](std::string& record) {
      const std::size_t at = record.find(from);
      if (at == std::string::npos) throw std::runtime_error("not in " + record);
      record.replace(at, from.size(), to);
    });
  }
  [[nodiscard]] std::string last_event() const { return std::string(must(run({"HGET", "seq", "event"}).as_text())); }

 private:
  void edit(std::size_t n, const std::function<void(std::string&)>& change) const {
    std::string record(must(run({"GET", key_of("t:", n)}).as_text()));
    change(record);
    run({"SET", key_of("t:", n), record});
  }

  std::string key_;
  std::vector<TaskId> tasks_;
};

struct Damage {
  const char* name;
  const char* code;  // that must be among the findings
  Cure cure;
  const char* sql;
  void (*redis)(const RedisHand&);
};
void PrintTo(const Damage& damage, std::ostream* out) {
  *out << damage.name;
}

// Tasks 1 to 3: completed by its second run with all that a task can keep, scheduled, pending.
const Damage kDamages[] = {
    {"HeldBytes", "held_bytes_wrong", Cure::kRepaired, "UPDATE task SET held_bytes = 7 WHERE seq = 1",
     [](const RedisHand& hand) { hand.put_word(1, 3, "7"); }},
    {"CheckpointGone", "held_bytes_wrong", Cure::kRepaired, "DELETE FROM checkpoint",
     [](const RedisHand& hand) { hand.run({"DEL", hand.key_of("c:", 1)}); }},
    {"LogTotal", "log_total_wrong", Cure::kRepaired, "UPDATE log_total SET head_bytes = 1",
     [](const RedisHand& hand) { hand.run({"HSET", hand.key_of("log_totals:", 1), "head_bytes:2", "1"}); }},
    {"LogTotalOfATail", "log_total_wrong", Cure::kRepaired, "UPDATE log_total SET tail_bytes = 1",
     [](const RedisHand& hand) { hand.run({"HSET", hand.key_of("log_totals:", 1), "tail_bytes:2", "1"}); }},
    {"LogGone", "log_total_wrong", Cure::kRepaired, "DELETE FROM log",
     [](const RedisHand& hand) { hand.run({"DEL", hand.key_of("log:", 1)}); }},
    {"RunNumber", "run_number_wrong", Cure::kReported, "UPDATE task SET run = 0 WHERE seq = 1",
     [](const RedisHand& hand) { hand.put_word(1, 8, "0"); }},
    {"RunTwice", "run_number_wrong", Cure::kReported, "INSERT INTO run VALUES (1, 2, '[]')",
     [](const RedisHand& hand) { hand.run({"APPEND", hand.key_of("h:", 1), "w|1|2|2|1|failed|{}\n"}); }},
    {"RunUnreadable", "run_number_wrong", Cure::kReported, "UPDATE task SET last_run = 'x' WHERE seq = 1",
     [](const RedisHand& hand) { hand.replace(1, "\nhost:1:a|", "\nx\n"); }},
    {"FinishTimeGone", "finish_time_wrong", Cure::kReported, "UPDATE task SET finished_at = NULL WHERE seq = 1",
     [](const RedisHand& hand) { hand.replace(1, "\"finished_at\":", "\"unfinished_at\":"); }},
    {"FinishTimeStray", "finish_time_wrong", Cure::kReported, "UPDATE task SET finished_at = 5 WHERE seq = 3",
     [](const RedisHand& hand) { hand.replace(3, "{", "{\"finished_at\":5,"); }},
    {"RunAtGone", "run_at_missing", Cure::kReported, "UPDATE task SET run_at = NULL WHERE seq = 2",
     [](const RedisHand& hand) { hand.replace(2, "\"run_at\":", "\"ran_at\":"); }},
    {"UsageGone", "usage_wrong", Cure::kReported, "UPDATE task SET usage = NULL WHERE seq = 1",
     [](const RedisHand& hand) { hand.replace(1, "\"usage\":", "\"unused\":"); }},
    {"EventGap", "event_gap", Cure::kReported, "DELETE FROM event_page WHERE last = 3",
     [](const RedisHand& hand) { hand.run({"XDEL", "events", "3-0"}); }},
    {"LastEventGone", "event_gap", Cure::kReported,
     "DELETE FROM event_page WHERE last = (SELECT max(last) FROM event_page)",
     [](const RedisHand& hand) { hand.run({"XDEL", "events", hand.last_event() + "-0"}); }},
    {"EventUnreadable", "event_unreadable", Cure::kReported, "UPDATE event_page SET lines = 'what?' WHERE last = 3",
     [](const RedisHand& hand) {
       const std::string next = std::to_string(std::stoi(hand.last_event()) + 1);
       hand.run({"XADD", "events", next + "-0", "at", "5", "e", "what?"});
       hand.run({"HSET", "seq", "event", next});
     }},
    {"StateChangedBehindItsBack", "event_state_wrong", Cure::kReported, "UPDATE task SET state = 4 WHERE seq = 3",
     [](const RedisHand& hand) { hand.put_word(3, 7, "stalled"); }},
    {"PolicyGone", "policy_missing", Cure::kReported, "DELETE FROM config",
     [](const RedisHand& hand) { hand.run({"DEL", "config"}); }},
    {"AccessTokensGone", "access_tokens_missing", Cure::kReported, "DELETE FROM document WHERE name = 'access_tokens'",
     [](const RedisHand& hand) { hand.run({"DEL", "access_tokens"}); }},
    {"FirstEventGone", "events_missing", Cure::kReportedOnce, "DELETE FROM event_page WHERE last = 1",
     [](const RedisHand& hand) { hand.run({"XDEL", "events", "1-0"}); }},
    {"WeightsGone", "weights_missing", Cure::kRepaired, "DELETE FROM weight",
     [](const RedisHand& hand) { hand.run({"HDEL", "gates", "weight:*", "weight:ann"}); }},
};

// Of the kinds that a quick look finds, too: core/inventory.h.
bool is_missing(const std::string& finding) {
  return finding.starts_with("policy_missing") || finding.starts_with("access_tokens_missing") ||
         finding.starts_with("events_missing");
}

// A store with these tasks, and with one who can damage it.
class Side {
 public:
  virtual ~Side() = default;
  virtual void damage(const Damage& damage) = 0;

  [[nodiscard]] std::vector<Finding> fsck(FsckMode mode) { return must(engine().fsck(mode)); }
  [[nodiscard]] std::vector<std::string> codes() { return texts_of(fsck(FsckMode::kCheck)); }
  [[nodiscard]] std::vector<std::string> missing() { return texts_of(must(store_->state()).missing); }

 protected:
  void start_on(std::unique_ptr<Store> store) {
    store_ = std::move(store);
    engine_ = std::make_unique<Engine>(*store_, rng_);
    fill();
  }
  [[nodiscard]] Clock& clock() { return clock_; }
  [[nodiscard]] const std::vector<TaskId>& tasks() const { return tasks_; }
  void close() {
    engine_.reset();
    store_.reset();
  }

 private:
  static std::vector<std::string> texts_of(const std::vector<Finding>& findings) {
    std::vector<std::string> texts;
    for (const Finding& finding : findings) texts.push_back(finding.code + " " + finding.detail);
    return texts;
  }
  Engine& engine() { return *engine_; }
  ClaimedTask claim() {
    return must(engine().claim({.worker_id = "host:1:a", .serves = {{.queue = "work"}}, .n = 1})).at(0);
  }
  void fill() {
    must(engine().apply_config(R"({"owners": {"ann": {"weight": 3}}})", 0));
    must(store_->put_document(DocumentKind::kAccessTokens, "{}", 0, {}));
    tasks_.push_back(must(engine().enqueue_one({.type = "work", .max_attempts = 1})).id);
    must(engine().fail(claim().lease, {.error_class = ErrorClass::kAgentError, .message = "it broke"}));
    must(engine().retry(tasks_.at(0), {}));
    const Lease second = claim().lease;
    must(engine().append_log(second, std::vector<LogChunk>{{LogStream::kOut, "hello"}, {LogStream::kErr, "world"}}));
    must(engine().checkpoint(second, "[1]"));
    must(engine().report(second, {.usage = Usage{.tokens = {.output = 1}, .turns = 1}}));
    must(engine().complete(second, {.result = "\"done\""}));
    tasks_.push_back(must(engine().enqueue_one({.type = "work", .delay = Millis{1'000}})).id);
    tasks_.push_back(must(engine().enqueue_one({.type = "work", .prompt = "go"})).id);
  }

  ManualClock clock_;
  LockedRng rng_{1};
  std::unique_ptr<Store> store_;
  std::unique_ptr<Engine> engine_;
  std::vector<TaskId> tasks_;
};

class SqliteSide final : public Side {
 public:
  SqliteSide() {
    SqliteOptions options;
    options.path = path_;
    options.clock = &clock();
    options.ballast_bytes = 0;
    start_on(must(open_sqlite(std::move(options))));
  }
  ~SqliteSide() override { close(); }
  void damage(const Damage& damage) override {
    sqlite3* db = nullptr;
    ASSERT_EQ(sqlite3_open(path_.c_str(), &db), SQLITE_OK);
    EXPECT_EQ(sqlite3_exec(db, damage.sql, nullptr, nullptr, nullptr), SQLITE_OK) << sqlite3_errmsg(db);
    EXPECT_GE(sqlite3_changes(db), 1);
    sqlite3_close(db);
  }

 private:
  TempDir folder_;
  std::string path_ = folder_.file("drover.db");
};

class RedisSide final : public Side {
 public:
  RedisSide() {
    drover::RedisOptions options;
    options.address = shared_redis().address(prefix_);
    options.test_clock = &clock();
    start_on(must(open_redis(std::move(options))));
  }
  ~RedisSide() override { close(); }
  void damage(const Damage& damage) override { damage.redis(RedisHand(prefix_, tasks())); }

 private:
  std::string prefix_ = fresh_prefix();
};

class FsckOfBoth : public testing::TestWithParam<Damage> {
 protected:
  static void expect_found(Side& side) {
    const Damage& damage = GetParam();
    const auto is_it = [&](const std::string& finding) { return finding.starts_with(damage.code); };
    ASSERT_EQ(side.codes(), std::vector<std::string>());
    side.damage(damage);
    const std::vector<std::string> found = side.codes();
    EXPECT_TRUE(std::ranges::any_of(found, is_it)) << testing::PrintToString(found);
    EXPECT_EQ(side.codes(), found) << "looking changes nothing";
    std::vector<std::string> gone;
    std::ranges::copy_if(found, std::back_inserter(gone), is_missing);
    EXPECT_EQ(side.missing(), gone) << "as the doctor says it";
    for (const Finding& finding : side.fsck(FsckMode::kRepair)) {
      if (finding.code != damage.code) continue;
      EXPECT_EQ(finding.repaired, damage.cure == Cure::kRepaired) << finding.detail;
    }
    const std::vector<std::string> left = side.codes();
    if (damage.cure == Cure::kReported) {
      EXPECT_TRUE(std::ranges::any_of(left, is_it)) << testing::PrintToString(left);
    } else {
      EXPECT_EQ(left, std::vector<std::string>());
    }
  }
};

TEST_P(FsckOfBoth, FindsItOnSqlite) {
  SqliteSide side;
  expect_found(side);
}

TEST_P(FsckOfBoth, FindsItOnRedis) {
  RedisSide side;
  expect_found(side);
}

INSTANTIATE_TEST_SUITE_P(Damages, FsckOfBoth, testing::ValuesIn(kDamages),
                         [](const auto& damage) { return std::string(damage.param.name); });

}  // namespace
}  // namespace drover::test
