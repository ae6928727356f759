// fsck finds every kind of damage, and puts right what follows from the task rows.
#include <gtest/gtest.h>

#include <algorithm>

#include "support/printers.h"
#include "unit/store/store_fixture.h"

namespace drover::test {
namespace {

enum class Cure { kRepaired, kReported };

struct Damage {
  const char* name;
  const char* sql;
  const char* code;  // that must be among the findings
  Cure cure = Cure::kRepaired;
};

// Tasks 1 to 7: completed, running, blocked by 2, pending, scheduled, stalled, failed.
const Damage kDamages[] = {
    {"CountTooHigh", "UPDATE counts SET pending = pending + 1 WHERE scope = 'all'", "counts_wrong"},
    {"BytesTooHigh", "UPDATE counts SET finished_bytes = finished_bytes + 1 WHERE scope = 'all'", "counts_wrong"},
    {"CountGone", "DELETE FROM counts WHERE scope = 'owner:ann'", "counts_wrong"},
    {"CountOfNothing", "INSERT INTO counts VALUES ('owner:nobody', 0, 0, 0, 4, 0, 0, 0, 0, 0)", "counts_wrong"},
    {"AnswerWaitOfNobody", "INSERT INTO answer_waits VALUES ('nobody', 3)", "counts_wrong"},
    {"HeldBytes", "UPDATE task SET held_bytes = 7 WHERE seq = 1", "held_bytes_wrong"},
    {"TagGone", "DELETE FROM tag WHERE seq = 4", "tag_index_wrong"},
    {"TagStray", "INSERT INTO tag VALUES ('stray', 1)", "tag_index_wrong"},
    {"TagOrphan", "INSERT INTO tag VALUES ('stray', 999)", "tag_index_wrong"},
    {"DependencyGone", "DELETE FROM dependency", "dependency_index_wrong"},
    {"DependencyStray", "INSERT INTO dependency VALUES (1, 4)", "dependency_index_wrong"},
    {"DependencyOrphan", "INSERT INTO dependency VALUES (998, 999)", "dependency_index_wrong"},
    {"BodyGone", "DELETE FROM body WHERE seq = 1", "body_missing", Cure::kReported},
    {"BodyOrphan",
     "CREATE TEMP TABLE orphan AS SELECT * FROM body WHERE seq = 5; UPDATE orphan SET seq = 999; "
     "INSERT INTO body SELECT * FROM orphan",
     "body_orphan"},
    {"CheckpointOrphan", "INSERT INTO checkpoint VALUES (999, '1')", "checkpoint_orphan"},
    {"RunOrphan", "INSERT INTO run VALUES (999, 1, '[]')", "run_orphan"},
    {"LogOrphan", "INSERT INTO log (seq, number, run, at, stream, text) VALUES (999, 1, 1, 0, 0, 'x')", "log_orphan"},
    {"LogWithoutTotal", "DELETE FROM log_total", "log_orphan"},
    {"LogTotalOrphan", "INSERT INTO log_total VALUES (999, 1, 0, 0, 0, 0, 0)", "log_total_orphan"},
    {"LogTotal", "UPDATE log_total SET head_bytes = 1", "log_total_wrong"},
    {"LogGone", "DELETE FROM log", "log_total_wrong"},
    {"LeaseGone", "UPDATE task SET lease = NULL WHERE seq = 2", "lease_missing"},
    {"LeaseTimeGone", "UPDATE task SET lease_until_mono = NULL WHERE seq = 2", "lease_missing"},
    {"LeaseStray", "UPDATE task SET lease = randomblob(16), lease_until_mono = 5 WHERE seq = 4", "lease_without_run"},
    {"RunNumber", "UPDATE task SET run = 0 WHERE seq = 1", "run_number_wrong", Cure::kReported},
    {"RunTwice", "INSERT INTO run VALUES (1, 1, '[]')", "run_number_wrong", Cure::kReported},
    {"RunUnreadable", "UPDATE task SET last_run = 'x' WHERE seq = 1", "run_number_wrong", Cure::kReported},
    {"DueGone", "UPDATE task SET due_at = NULL WHERE seq = 5", "index_column_wrong"},
    {"DueStray", "UPDATE task SET due_at = 5 WHERE seq = 4", "index_column_wrong"},
    {"LateStray", "UPDATE task SET late_at = 5 WHERE seq = 4", "index_column_wrong"},
    {"ListedGone", "UPDATE task SET listed_state = NULL WHERE seq = 7", "index_column_wrong"},
    {"CascadeStray", "UPDATE task SET cascade_at = 5 WHERE seq = 4", "index_column_wrong"},
    {"DedupeGone", "DELETE FROM dedupe_open", "dedupe_index_wrong"},
    {"DedupeStray", "INSERT INTO dedupe_open VALUES ('ann', 't1', 'k', 1)", "dedupe_index_wrong"},
    {"FinishTimeGone", "UPDATE task SET finished_at = NULL WHERE seq = 1", "finish_time_wrong", Cure::kReported},
    {"RunAtGone", "UPDATE task SET run_at = NULL WHERE seq = 5", "run_at_missing", Cure::kReported},
    {"LaneGone", "DELETE FROM lane WHERE type = 't4'", "lane_of_task_wrong"},
    {"LaneOfNothing",
     "INSERT INTO lane (name, queue, rank, owner, type, cost, gates, head, tasks) VALUES ('q|0|o|t|1|', 'q', 0, 'o', "
     "'t', 1, "
     "'', 1, 0)",
     "lane_wrong"},
    {"LaneHead", "UPDATE lane SET head = head + 1 WHERE type = 't4'", "lane_wrong"},
    {"LaneTasks", "UPDATE lane SET tasks = tasks + 1 WHERE type = 't4'", "lane_wrong"},
    {"LaneColumn", "UPDATE lane SET rank = 9 WHERE type = 't4'", "lane_wrong"},
    {"LaneParkedAtAnotherGate", "UPDATE lane SET parked_at = 'queue:other' WHERE type = 't4'", "lane_wrong"},
    {"TaskInNoLane", "UPDATE task SET lane = NULL WHERE seq = 4", "lane_of_task_wrong"},
    {"TaskInAnotherLane", "UPDATE task SET lane = (SELECT lane FROM task WHERE seq = 6) WHERE seq = 4",
     "lane_of_task_wrong"},
    {"RunningTaskInALane", "UPDATE task SET lane = (SELECT lane FROM task WHERE seq = 6) WHERE seq = 2",
     "lane_of_task_wrong"},
    {"GroupGone", "DELETE FROM line_group WHERE line = 'build|t4'", "line_wrong"},
    {"GroupOfNothing", "INSERT INTO line_group VALUES ('build', 9, 'ann', 0)", "line_wrong"},
    {"LaneParkedBehindItsLinesBack", "UPDATE lane SET parked_at = 'queue:build' WHERE type = 't4'", "line_wrong"},
    {"ScoreAhead", "UPDATE line_group SET score = 1000000 WHERE line = 'build|t4'", "line_wrong"},
    {"ShareGone", "DELETE FROM share", "line_wrong"},
    {"GateInUse", "INSERT INTO gate VALUES ('type:t2', 0, '', 3, 0, NULL, '')", "permits_wrong"},
    {"GateWaitedAtByNobody", "INSERT INTO gate VALUES ('type:t2', 0, '', 0, 0, 5, 'build')", "gate_wait_wrong"},
    {"GateAsleep",
     "UPDATE lane SET parked_at = 'queue:build' WHERE type = 't4'; DELETE FROM line_group WHERE line = 'build|t4';"
     "INSERT INTO line_group VALUES ('queue:build||build', 5, 'ann', 0)",
     "gate_asleep"},
    {"CountOfQueue", "UPDATE counts SET failed = failed + 1 WHERE scope = 'queue:build'", "counts_wrong"},
    {"PlaceGone", "UPDATE task SET place = 0 WHERE seq = 4", "place_missing"},
    {"PlaceTwice", "UPDATE task SET place = (SELECT place FROM task WHERE seq = 6) WHERE seq = 4", "place_twice",
     Cure::kReported},
    {"SequenceBehind", "UPDATE sequence SET task = 0, place = 0", "number_wrong"},
    {"EventGap", "DELETE FROM event_page WHERE last = 3", "event_gap", Cure::kReported},
    {"LastEventGone", "DELETE FROM event_page WHERE last = (SELECT max(last) FROM event_page)", "event_gap",
     Cure::kReported},
    {"EventUnreadable", "UPDATE event_page SET lines = 'what?' WHERE last = 3", "event_unreadable", Cure::kReported},
    {"EventGoneFromItsPage", "UPDATE event_page SET first = 2 WHERE last = 3; DELETE FROM event_page WHERE last = 2",
     "event_unreadable", Cure::kReported},
    {"StateChangedBehindItsBack", "UPDATE task SET state = 4 WHERE seq = 4", "event_state_wrong", Cure::kReported},
    {"UnmetParentsTooMany", "UPDATE task SET unmet_parents = 5 WHERE seq = 3", "unmet_parents_wrong"},
    {"UnmetParentsTooFew", "UPDATE task SET unmet_parents = 0 WHERE seq = 3", "unmet_parents_wrong"},
    {"BlockedForNothing",
     "UPDATE body SET depends_on = NULL WHERE seq = 3; DELETE FROM dependency; UPDATE task SET held_bytes = held_bytes "
     "- 16, "
     "unmet_parents = 0 WHERE seq = 3",
     "blocked_for_nothing"},
    {"ParentEndForgotten",
     "UPDATE body SET depends_on = (SELECT id FROM task WHERE seq = 7) WHERE seq = 3; UPDATE dependency SET parent = 7",
     "parent_end_forgotten"},
    {"DependentsCount", "UPDATE task SET dependents = 0 WHERE seq = 2", "dependents_count_wrong"},
    {"ChildrenCount", "UPDATE task SET children = 0 WHERE seq = 1", "children_count_wrong"},
    {"RecordUnreadable", "UPDATE body SET on_parent_failure = 'perhaps' WHERE seq = 4", "record_unreadable",
     Cure::kReported},
};

class FsckTest : public ::testing::Test {
 protected:
  // Rows get their seq in this order: task n is row n.
  void SetUp() override {
    for (int i = 1; i <= 7; ++i) sut_.add(record(i));
    start(1);
    sut_.step(id_of(1), trigger::Complete{{.result = R"("done")"}});
    start(2);
    const Note note{.lease = {id_of(2), lease_of(2)}, .checkpoint = "1", .log = {{LogStream::kOut, "hello"}}};
    ASSERT_EQ(must(sut_->note(std::vector{note})), std::vector{true});
    start(6);
    sut_.step(id_of(6), trigger::LeaseLost{});
    start(7);
    sut_.step(id_of(7), trigger::Fail{{.message = "broke"}});
    ASSERT_EQ(codes_of(must(sut_->fsck(FsckMode::kCheck))), std::vector<std::string>());
  }

  TaskRecord record(int number) {
    TaskRecord record = new_record(number);
    record.task.type = "t" + std::to_string(number);
    record.task.max_attempts = 1;
    if (number == 1) record.children = 1;
    if (number == 2) record.dependents = 1;
    if (number == 3) {
      record.task.depends_on = {id_of(2)};
      record.unmet_parents = 1;
    }
    if (number == 4) {
      record.task.tags = {"a", "b"};
      record.task.parent_id = id_of(1);
    }
    if (number == 5) {
      record.task.run_at = sut_.clock().wall() + Millis(1'000);
      record.task.dedupe_key = "k";
    }
    return record;
  }

  void start(int number) {
    const ClaimRequest request{.worker_id = "w", .serves = {{"build", "t" + std::to_string(number)}}};
    ASSERT_EQ(must(sut_->claim(request, std::vector{lease_of(number)}, std::nullopt)).records.size(), 1U);
  }

  std::vector<std::string> findings(FsckMode mode) { return codes_of(must(sut_->fsck(mode))); }

  TempDir dir_;
  StoreUnderTest sut_{dir_.file("q.db")};
};

class Fsck : public FsckTest, public ::testing::WithParamInterface<Damage> {};

TEST_P(Fsck, FindsItAndPutsItRightIfItFollowsFromTheTasks) {
  const Damage& damage = GetParam();
  RawDatabase(dir_.file("q.db")).run(damage.sql);
  const std::vector<std::string> found = findings(FsckMode::kCheck);
  EXPECT_GE(std::ranges::count(found, damage.code), 1) << ::testing::PrintToString(found);
  EXPECT_EQ(findings(FsckMode::kCheck), found) << "looking changes nothing";

  for (const Finding& finding : must(sut_->fsck(FsckMode::kRepair))) {
    if (finding.code != damage.code) continue;
    EXPECT_EQ(finding.repaired, damage.cure == Cure::kRepaired) << finding.detail;
  }
  const std::vector<std::string> left = findings(FsckMode::kCheck);
  if (damage.cure == Cure::kRepaired) {
    EXPECT_EQ(left, std::vector<std::string>());
  } else {
    EXPECT_GE(std::ranges::count(left, damage.code), 1) << ::testing::PrintToString(left);
  }
}

INSTANTIATE_TEST_SUITE_P(Damages, Fsck, ::testing::ValuesIn(kDamages),
                         [](const auto& damage) { return std::string(damage.param.name); });

TEST_F(FsckTest, ARepairedStoreWorksOn) {
  RawDatabase(dir_.file("q.db"))
      .run(
          "UPDATE task SET place = 0 WHERE seq = 4; UPDATE task SET lease = NULL WHERE seq = 2;"
          "UPDATE sequence SET task = 0, place = 0; DELETE FROM counts");
  static_cast<void>(must(sut_->fsck(FsckMode::kRepair)));
  // The running task without a lease may still be run by somebody: it lapses when its lease would have.
  EXPECT_EQ(must(sut_->lapsed(std::nullopt, 10)).size(), 0U);
  sut_.clock().advance(Millis(30'000));
  EXPECT_EQ(must(sut_->lapsed(std::nullopt, 10)).size(), 1U);
  sut_.step(id_of(2), trigger::LeaseLost{});
  sut_.add(record(8));
  start(4);
  EXPECT_EQ(must(sut_.try_add({new_record(9)}, {.waiting_max = 5})), std::vector{Applied::kAllFull});
  EXPECT_EQ(findings(FsckMode::kCheck), std::vector<std::string>());
}

TEST_F(FsckTest, ALeaseWhoseEndIsLostLastsAWholeOneFromTheRepair) {
  sut_.clock().advance(Millis(20'000));
  RawDatabase(dir_.file("q.db")).run("UPDATE task SET lease_until_mono = NULL WHERE seq = 2");
  static_cast<void>(must(sut_->fsck(FsckMode::kRepair)));
  sut_.clock().advance(Millis(29'999));
  EXPECT_EQ(must(sut_->lapsed(std::nullopt, 10)).size(), 0U);
  sut_.clock().advance(Millis(1));
  EXPECT_EQ(must(sut_->lapsed(std::nullopt, 10)).size(), 1U);
}

TEST_F(FsckTest, WhatWasBlockedForNothingGoesWhereTheRulesSay) {
  RawDatabase(dir_.file("q.db"))
      .run("UPDATE body SET depends_on = NULL WHERE seq = 3; UPDATE task SET run_at = 9000000000000 WHERE seq = 3");
  static_cast<void>(must(sut_->fsck(FsckMode::kRepair)));
  EXPECT_EQ(sut_.read(id_of(3)).task.state, TaskState::kScheduled);
  EXPECT_EQ(must(sut_->events(0, 100)).back().name, "task.unblocked");
}

TEST_F(FsckTest, AForgottenEndOfAParentIsLeftToTheCascade) {
  RawDatabase(dir_.file("q.db"))
      .run(
          "UPDATE body SET depends_on = (SELECT id FROM task WHERE seq = 7) WHERE seq = 3; UPDATE dependency SET "
          "parent = 7");
  static_cast<void>(must(sut_->fsck(FsckMode::kRepair)));
  const auto cascades = must(sut_->cascades(10));
  ASSERT_EQ(cascades.size(), 1U);
  EXPECT_EQ(cascades[0].task.id, id_of(7));
}

TEST_F(FsckTest, ADamagedIndexIsBuiltAnew) {
  sut_.close();
  {
    RawDatabase raw(dir_.file("q.db"));
    // The entries of one index now lie about the rows: as after a lost write.
    raw.run(
        "PRAGMA writable_schema = 1; UPDATE sqlite_master SET sql = replace(sql, 'lane, place', 'place, lane') "
        "WHERE name = 'task_ready'; PRAGMA writable_schema = 0");
  }
  sut_.reopen(dir_.file("q.db"));
  EXPECT_EQ(findings(FsckMode::kCheck).at(0), "database_damaged");
  EXPECT_TRUE(must(sut_->fsck(FsckMode::kRepair)).at(0).repaired);
  EXPECT_EQ(findings(FsckMode::kCheck), std::vector<std::string>());
}

TEST_F(FsckTest, ManyFindingsOfAKindAreSummedUp) {
  RawDatabase raw(dir_.file("q.db"));
  raw.run(
      "WITH RECURSIVE n(i) AS (SELECT 1000 UNION ALL SELECT i + 1 FROM n WHERE i < 1250) "
      "INSERT INTO checkpoint (seq, checkpoint) SELECT i, '1' FROM n");
  const auto found = must(sut_->fsck(FsckMode::kCheck));
  EXPECT_EQ(found.size(), 101U);
  EXPECT_EQ(found.back().detail, "and 151 more");
}

}  // namespace
}  // namespace drover::test
