#include "differential/stores.h"

#include "store/redis/redis_store.h"
#include "store/sqlite/sqlite_store.h"
#include "support/must.h"
#include "support/redis_server.h"

namespace drover::test {

std::unique_ptr<Store> open_memory(Clock& clock) {
  SqliteOptions options;
  options.clock = &clock;
  return must(open_sqlite(std::move(options)));
}

std::unique_ptr<Store> open_on_redis(Clock& clock) {
  drover::RedisOptions options;
  options.address = shared_redis().address(fresh_prefix());
  options.test_clock = &clock;
  return must(open_redis(std::move(options)));
}

}  // namespace drover::test
