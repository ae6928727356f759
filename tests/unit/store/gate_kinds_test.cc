// The kinds of gates that SQL and Lua spell out are those of core/gate_name.h.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "core/gate_name.h"
#include "embedded/redis.h"
#include "embedded/sqlite.h"

namespace drover {
namespace {

// The gates that every task asks, as a list in that language: 'all', 'queue:' || queue, …
std::string gates_of_every_task(std::string_view concatenation) {
  std::string list;
  for (const GateKindInfo& kind : kGateKinds) {
    if (kind.asked_by != GateKindInfo::AskedBy::kEveryTask) continue;
    if (kind.word == kAllGate) {
      list = fmt::format("'{}'", kAllGate);
    } else {
      list += fmt::format(", '{}:' {} {}", kind.word, concatenation, kind.word);
    }
  }
  return list;
}

TEST(GateKinds, EveryTaskAsksTheSameGatesInSqlAndLua) {
  const std::string sql = "(" + gates_of_every_task("||");
  EXPECT_TRUE(std::string_view(embedded::gates_sql).contains(sql)) << sql;
  EXPECT_TRUE(std::string_view(embedded::fsck_sql).contains(sql)) << sql;
  const std::string lua = "{" + gates_of_every_task("..") + "}";
  EXPECT_TRUE(std::string_view(embedded::_1_call_lua).contains(lua)) << lua;
}

}  // namespace
}  // namespace drover
