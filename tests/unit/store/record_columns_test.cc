// The tables hold the fields of the list, in its order.
#include "store/sqlite/record_columns.h"

#include <gtest/gtest.h>

#include "store/sqlite/schema.h"
#include "support/must.h"

namespace drover::sqlite {
namespace {

class RecordColumns : public ::testing::Test {
 protected:
  RecordColumns() { test::must(prepare_schema(db_, "test")); }

  std::string columns_in(std::string_view table) {
    Statement query = db_.prepare("SELECT group_concat(name, ', ') FROM pragma_table_info(?1)");
    return query.bind(table).step() ? query.text() : std::string();
  }

  Connection db_{{":memory:", "", Millis(0)}};
};

TEST_F(RecordColumns, OfABodyAreThoseThatAreGiven) {
  EXPECT_EQ(columns_in("body"), with_columns("seq, {given}, {body}"));
}

TEST_F(RecordColumns, OfATaskAreThoseThatMoveAndTheStoresOwn) {
  EXPECT_EQ(columns_in("task"),
            with_columns("seq, id, {moving}, held_bytes, lane, lease_until_mono, lease_renewed_mono, due_at, "
                         "late_at, cascade_at, listed_state, last_run, result"));
}

}  // namespace
}  // namespace drover::sqlite
