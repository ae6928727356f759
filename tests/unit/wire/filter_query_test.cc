#include "wire/filter_query.h"

#include <gtest/gtest.h>

namespace drover {
namespace {

TEST(FilterQuery, EveryPartComesBack) {
  TaskFilter filter;
  filter.type = "t";
  filter.queue = "q";
  filter.owner = "o";
  filter.states = {TaskState::kFailed, TaskState::kPending};
  filter.tag = "x-y";
  filter.parent_id = TaskId::parse("0197b7d4-5c61-7cd5-8000-0123456789ab");
  filter.error_class = ErrorClass::kTimeout;
  filter.fingerprint = "abc";
  filter.finished_before = *parse_time("2026-01-02T03:04:05.678Z");
  filter.escalated = false;
  filter.worker_id = "w";
  filter.created_since = *parse_time("2026-01-02T03:04:05.678Z");
  filter.created_until = *parse_time("2026-02-02T03:04:05.678Z");
  filter.search = "a & b";
  filter.id_prefix = "0197";
  const auto query = query_of_filter(filter);
  const auto read = filter_of_query(query, {});
  ASSERT_TRUE(read);
  EXPECT_EQ(query_of_filter(*read), query);
  EXPECT_EQ(read->states, filter.states);
  EXPECT_EQ(read->parent_id, filter.parent_id);
  EXPECT_EQ(read->finished_before, filter.finished_before);
  EXPECT_EQ(read->escalated, false);
  EXPECT_EQ(read->created_until, filter.created_until);
  EXPECT_EQ(read->search, filter.search);
}

TEST(FilterQuery, SeveralStatesMayStandInOne) {
  const auto read = filter_of_query({{"state", "failed,cancelled"}}, {});
  ASSERT_TRUE(read);
  EXPECT_EQ(read->states, (std::vector{TaskState::kFailed, TaskState::kCancelled}));
}

TEST(FilterQuery, WhatIsNotUnderstoodIsNamed) {
  EXPECT_EQ(filter_of_query({{"stat", "failed"}}, {}).error().message, "unknown parameter \"stat\"");
  EXPECT_EQ(filter_of_query({{"state", "lost"}}, {}).error().message,
            "state: unknown state \"lost\"; the states are blocked, scheduled, pending, running, stalled, completed, "
            "failed, cancelled");
  EXPECT_TRUE(filter_of_query({{"limit", "5"}}, {"limit"}));
}

}  // namespace
}  // namespace drover
