// The fsck of both stores: one word for one thing, whatever the store. Its kinds are read from the sources.
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>

namespace drover::test {
namespace {

using Kinds = std::set<std::string>;

std::string text_of(const std::string& path) {
  std::ifstream file(std::string(DROVER_SOURCES) + path);
  EXPECT_TRUE(file) << path;
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

Kinds kinds_in(const std::string& text, const std::string& pattern) {
  const std::regex regex(pattern);
  Kinds kinds;
  for (std::sregex_iterator at(text.begin(), text.end(), regex), end; at != end; ++at) kinds.insert((*at)[1]);
  return kinds;
}

Kinds sqlite_kinds() {
  return kinds_in(text_of("/src/store/sqlite/fsck.cc"), R"re((?:Check|Finding|push_back\()\{?"([a-z_]+)")re");
}

Kinds redis_kinds() {
  Kinds kinds;
  for (const char* file : {"9_findings.lua", "a_fsck_record.lua", "a_fsck.lua", "a_fsck_logs.lua"}) {
    kinds.merge(kinds_in(text_of(std::string("/src/store/redis/lua/") + file), R"re(found\('([a-z_]+)')re"));
  }
  kinds.merge(kinds_in(text_of("/src/store/redis/event_review.cc"), R"re(find\("([a-z_]+)")re"));
  kinds.insert({"dependents_count_wrong", "children_count_wrong"});  // check_family puts their names together
  return kinds;
}

// What SQLite keeps in tables and columns of their own, and the word that Redis has for all of it; none: Redis keeps
// no such thing.
const std::map<std::string, std::string> kOfSqliteAlone{
    {"body_orphan", "orphan"},
    {"checkpoint_orphan", "orphan"},
    {"run_orphan", "orphan"},
    {"log_orphan", "orphan"},
    {"log_total_orphan", "orphan"},
    {"conversation_orphan", "orphan"},
    {"conversation_body_orphan", "orphan"},
    {"tag_index_wrong", "index_wrong"},
    {"dependency_index_wrong", "index_wrong"},
    {"dedupe_index_wrong", "index_wrong"},
    {"index_column_wrong", "index_wrong"},
    {"question_index_wrong", "index_wrong"},
    {"lease_missing", "index_wrong"},
    {"lease_without_run", "index_wrong"},
    {"place_missing", "lane_wrong"},
    {"place_twice", "lane_wrong"},
    {"lane_of_task_wrong", "lane_wrong"},
    {"line_wrong", "lane_wrong"},
    {"database_damaged", ""},  // pages
};
// Questions, which SQLite keeps in columns; indexes that are constraints of SQLite's own; what gates enforce, which
// SQLite keeps only in their records; keys of a wrong type; what is put apart until a repair.
const Kinds kOfRedisAlone{"request_wrong", "task_list_wrong", "limits_wrong", "wrong_type",
                          "quarantined",   "index_wrong",     "orphan",       "question_unreadable"};

TEST(FsckKinds, AreTheSameForTheSameThings) {
  Kinds of_both_by_sqlite;
  const Kinds of_redis = redis_kinds();
  for (const std::string& kind : sqlite_kinds()) {
    const auto alone = kOfSqliteAlone.find(kind);
    if (alone == kOfSqliteAlone.end()) {
      of_both_by_sqlite.insert(kind);
    } else if (!alone->second.empty()) {
      EXPECT_TRUE(of_redis.contains(alone->second)) << kind;
    }
  }
  Kinds of_both_by_redis = of_redis;
  for (const std::string& kind : kOfRedisAlone) EXPECT_EQ(of_both_by_redis.erase(kind), 1U) << kind;
  EXPECT_EQ(of_both_by_sqlite, of_both_by_redis);
}

TEST(FsckKinds, AreInTheDocumentation) {
  const std::string of_redis = text_of("/docs/operate/redis.md");
  for (const std::string& kind : redis_kinds()) {
    EXPECT_NE(of_redis.find("`" + kind + "`"), std::string::npos) << kind;
  }
}

}  // namespace
}  // namespace drover::test
