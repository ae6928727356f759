// Every query on a hot path goes by an index, whatever the size of the backlog: nothing is scanned, nothing is sorted.
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <string>
#include <string_view>

#include "embedded/sqlite.h"
#include "store/sqlite/connection.h"
#include "store/sqlite/named_sql.h"
#include "store/sqlite/schema.h"
#include "support/must.h"

namespace drover::sqlite {
namespace {

struct Plan {
  const char* name;
  std::string_view sql;
  std::string_view index;  // that the search in table task goes by
};

const Plan kPlans[] = {
    {"Ready", named_sql(embedded::claim_sql, "ready"), "task_ready (queue=?)"},
    {"ReadyOfType", named_sql(embedded::claim_sql, "ready_of_type"), "task_ready (queue=?)"},
    {"Guard", named_sql(embedded::tasks_sql, "guard"), "sqlite_autoindex_task_1 (id=?)"},
    {"ReadAll", named_sql(embedded::tasks_sql, "read_all"), "sqlite_autoindex_task_1 (id=?)"},
    {"Request", named_sql(embedded::reads_sql, "request"), "task_request (owner=? AND request_id=?)"},
    {"Children", named_sql(embedded::reads_sql, "children"), "task_children (parent_id=?)"},
    {"List", named_sql(embedded::reads_sql, "list"), "INTEGER PRIMARY KEY (rowid<?)"},
    {"ListByState", named_sql(embedded::reads_sql, "list_by_state"), "task_by_state (state=? AND rowid<?)"},
    {"ListByParent", named_sql(embedded::reads_sql, "list_by_parent"), "task_children (parent_id=? AND rowid<?)"},
    {"Due", named_sql(embedded::sweeps_sql, "due"), "task_scheduled (run_at<?)"},
    {"PastDeadline", named_sql(embedded::sweeps_sql, "past_deadline"),
     "task_deadline (deadline_at>? AND deadline_at<?)"},
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
  QueryPlan() { test::must(prepare_schema(db_, "test")); }

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
  EXPECT_EQ(plan.find("TEMP B-TREE"), std::string::npos) << plan;
}

INSTANTIATE_TEST_SUITE_P(Statements, QueryPlan, ::testing::ValuesIn(kPlans),
                         [](const auto& plan) { return std::string(plan.param.name); });

}  // namespace
}  // namespace drover::sqlite
