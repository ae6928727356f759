// Every query on a hot path goes by an index, whatever the size of the backlog: nothing is scanned, nothing is sorted.
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <string>
#include <string_view>

#include "embedded/sqlite.h"
#include "store/sqlite/connection.h"
#include "store/sqlite/named_sql.h"
#include "store/sqlite/new_task_table.h"
#include "store/sqlite/record_columns.h"
#include "store/sqlite/schema.h"
#include "support/must.h"

namespace drover::sqlite {
namespace {

struct Plan {
  const char* name;
  std::string_view sql;
  std::string_view index;  // that the search goes by
  bool sorts = false;      // what the index leaves is few, and not in the right order
};

const Plan kPlans[] = {
    {"WaitingInLane", named_sql(embedded::claim_sql, "waiting_in_lane"), "task_ready (lane=?)"},
    {"NextPlace", named_sql(embedded::lanes_sql, "next_place"), "task_ready (lane=? AND place>?)"},
    {"FindLane", named_sql(embedded::lanes_sql, "find"), "sqlite_autoindex_lane_1 (name=?)"},
    {"FirstGroup", named_sql(embedded::lanes_sql, "first_group"), "line_order (line=?)"},
    {"BestRank", named_sql(embedded::lanes_sql, "best_rank"), "(line=?)"},
    {"FirstInQueue", named_sql(embedded::lanes_sql, "first_in_queue"),
     "lane_of_owner (queue=? AND rank=? AND owner=? AND parked_at=?)"},
    {"FirstOfType", named_sql(embedded::lanes_sql, "first_of_type"),
     "lane_of_type (queue=? AND type=? AND rank=? AND owner=?)"},
    {"FirstParked", named_sql(embedded::lanes_sql, "first_parked"),
     "lane_parked (parked_at=? AND queue=? AND rank=? AND owner=?)"},
    {"OldestInQueue", named_sql(embedded::lanes_sql, "oldest_in_queue"), "lane_oldest (queue=?)"},
    {"OldestOfType", named_sql(embedded::lanes_sql, "oldest_of_type"), "lane_oldest_of_type (queue=? AND type=?)"},
    {"IsWaitedAt", named_sql(embedded::lanes_sql, "is_waited_at"), "lane_parked (parked_at=?)"},
    {"NextQueue", named_sql(embedded::lanes_sql, "next_queue"), "lane_parked (parked_at=? AND queue>?)"},
    {"DueGates", named_sql(embedded::gates_sql, "due"), "gate_wake (wake_at<?)"},
    {"NextGate", named_sql(embedded::gates_sql, "next_wake"), "gate_wake"},
    {"CountRunning", named_sql(embedded::gates_sql, "count_running"), "task_leased"},
    {"NewestWithKey", named_sql(embedded::reads_sql, "newest_with_key"),
     "body_dedupe (owner=? AND type=? AND dedupe_key=?)"},
    {"UnfinishedWithKey", named_sql(embedded::reads_sql, "unfinished_with_key"),
     "dedupe_open USING PRIMARY KEY (owner=? AND type=? AND dedupe_key=?)"},
    {"AnyIdBetween", named_sql(embedded::tasks_sql, "any_id_between"), "sqlite_autoindex_task_1 (id>? AND id<?)"},
    {"AnyIdTaken", named_sql(embedded::tasks_sql, "any_id_taken"), "sqlite_autoindex_task_1 (id=?)"},
    {"Guard", named_sql(embedded::tasks_sql, "guard"), "sqlite_autoindex_task_1 (id=?)"},
    {"ReadRecord", named_sql(embedded::tasks_sql, "read_record"), "sqlite_autoindex_task_1 (id=?)"},
    {"Request", named_sql(embedded::reads_sql, "request"), "body_request (owner=? AND request_id=?)"},
    {"Children", named_sql(embedded::reads_sql, "children"), "body_children (parent_id=?)"},
    {"EventPages", named_sql(embedded::reads_sql, "event_pages"), "INTEGER PRIMARY KEY (rowid>?)"},
    {"OldestEvents", named_sql(embedded::retention_sql, "oldest_events"), "event_page"},
    {"Weight", named_sql(embedded::lanes_sql, "weight"), "(owner=?)"},
    {"List", named_sql(embedded::reads_sql, "list"), "INTEGER PRIMARY KEY (rowid<?)"},
    {"ListByState", named_sql(embedded::reads_sql, "list_by_state"), "task_by_state (listed_state=? AND rowid<?)"},
    {"ListById", named_sql(embedded::reads_sql, "list_by_id"), "sqlite_autoindex_task_1 (id>? AND id<?)", true},
    {"ListByParent", named_sql(embedded::reads_sql, "list_by_parent"), "body_children (parent_id=? AND rowid<?)"},
    {"Due", named_sql(embedded::sweeps_sql, "due"), "task_scheduled (due_at<?)"},
    {"PastDeadline", named_sql(embedded::sweeps_sql, "past_deadline"), "task_deadline (late_at<?)"},
    {"Lapsed", named_sql(embedded::sweeps_sql, "lapsed"), "task_leased (lease_until_mono<?)"},
    {"Silent", named_sql(embedded::sweeps_sql, "silent"), "task_leased"},
    {"Cascades", named_sql(embedded::sweeps_sql, "cascades"), "task_cascade"},
    {"NextRunAt", named_sql(embedded::sweeps_sql, "next_run_at"), "task_scheduled"},
    {"NextDeadline", named_sql(embedded::sweeps_sql, "next_deadline"), "task_deadline"},
    {"NextLapse", named_sql(embedded::sweeps_sql, "next_lapse"), "task_leased"},
    {"OldestFinished", named_sql(embedded::retention_sql, "oldest_finished"), "task_finished"},
    {"Renew", named_sql(embedded::leases_sql, "renew"), "sqlite_autoindex_task_1 (id=?)"},
};

class QueryPlan : public ::testing::TestWithParam<Plan> {
 protected:
  QueryPlan() {
    add_new_task_table(db_);
    test::must(prepare_schema(db_, "test"));
    add_task_views(db_);
  }

  std::string plan_of(std::string_view sql) {
    const std::string explained = "EXPLAIN QUERY PLAN " + std::string(sql);
    sqlite3_stmt* stmt = nullptr;
    EXPECT_EQ(sqlite3_prepare_v2(db_.handle(), explained.c_str(), -1, &stmt, nullptr), SQLITE_OK);
    std::string plan;
    while (sqlite3_step(stmt) == SQLITE_ROW) {
      plan += reinterpret_cast<const char*>(sqlite3_column_text(stmt, 3)) + std::string("\n");
    }
    sqlite3_finalize(stmt);
    return plan;
  }

  Connection db_{{":memory:", "", Millis(0)}};
};

TEST_P(QueryPlan, GoesByItsIndex) {
  const std::string plan = plan_of(GetParam().sql);
  EXPECT_NE(plan.find(GetParam().index), std::string::npos) << plan;
  EXPECT_EQ(plan.contains("TEMP B-TREE"), GetParam().sorts) << plan;
}

INSTANTIATE_TEST_SUITE_P(Statements, QueryPlan, ::testing::ValuesIn(kPlans),
                         [](const auto& plan) { return std::string(plan.param.name); });

}  // namespace
}  // namespace drover::sqlite
