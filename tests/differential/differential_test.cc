#include "differential/differential.h"

#include <gtest/gtest.h>

#include "differential/stores.h"
#include "store/sqlite/sqlite_store.h"
#include "support/must.h"

namespace drover::test {
namespace {

void expect_equal_stores(std::uint64_t seed, int operations) {
  const auto difference = find_difference(open_memory, open_on_redis, seed, operations);
  if (difference)
    ADD_FAILURE() << "seed " << seed << ", operation " << difference->operation << ": " << difference->what;
}

TEST(Differential, SqliteAndRedisAgree) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) expect_equal_stores(seed, 1'000);
}

// The test itself can fail: a store that says another thing is found.
TEST(Differential, AStoreThatDiffersIsFound) {
  const auto late = [](Clock& clock) {
    SqliteOptions options;
    options.clock = &clock;
    options.log_bytes_max = 2;  // it keeps less output than the other
    return must(open_sqlite(std::move(options)));
  };
  bool found = false;
  for (std::uint64_t seed = 1; seed <= 5 && !found; ++seed)
    found = find_difference(open_memory, late, seed, 2'000).has_value();
  EXPECT_TRUE(found);
}

}  // namespace
}  // namespace drover::test
