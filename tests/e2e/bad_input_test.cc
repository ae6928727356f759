// Bad input and bad stores: a clear message, a stable code, an exit code, and nothing changed.
#include <fmt/format.h>
#include <sqlite3.h>

#include <fstream>
#include <iterator>

#include "e2e/e2e_test.h"

namespace drover::e2e {
namespace {

constexpr const char* kNobody = "01920f5e-7a3c-7def-8123-456789abcdef";

std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

class BadInputTest : public E2eTest {
 protected:
  void SetUp() override { first_ = sandbox.enqueue({"work", "--payload", "[1]"}); }

  void expect_unchanged(const Arguments& arguments, const std::string& input, int exit_code, const std::string& code) {
    SCOPED_TRACE(fmt::format("{} <<< {}", arguments.back(), input.substr(0, 200)));
    const std::string before = sandbox.dump();
    const Outcome outcome = sandbox.drover(arguments, input);
    expect_refused(outcome, exit_code, code);
    EXPECT_GT(outcome.err.size(), code.size() + 12) << "it says nothing: " << outcome.err;
    EXPECT_EQ(sandbox.dump(), before);
  }
  void expect_bad_payload(const std::string& payload, const std::string& code) {
    expect_unchanged({"enqueue", "work", "--payload", "-"}, payload, 1, code);
  }
  // Each line after a good one: all or nothing.
  void expect_bad_line(const std::string& line, const std::string& code, int exit_code = 1) {
    expect_unchanged({"enqueue", "--batch", "-"}, "{\"type\":\"work\"}\n" + line + "\n", exit_code, code);
  }

  std::string first_;
};

TEST_F(BadInputTest, MalformedJson) {
  std::string deep;
  for (int i = 0; i < 65; ++i) deep += '[';
  for (int i = 0; i < 65; ++i) deep += ']';
  for (const std::string& payload :
       {std::string(), std::string("{"), std::string("{\"a\":1,}"), std::string("[1 2]"), std::string("nul"),
        std::string("01"), std::string("\"\\x\""), std::string("\"\\ud800\""), std::string("{\"a\":1,\"a\":2}"),
        std::string("\"\xff\xfe\""), std::string("\"tab\there\""), std::string("1 2"), std::string("NaN"), deep,
        std::string(1'000'000, '[')}) {
    expect_bad_payload(payload, "invalid_json");
  }
  expect_bad_line("{\"type\":\"work\"", "invalid_json");
}

TEST_F(BadInputTest, ErrorsNameTheirLine) {
  const Outcome outcome =
      sandbox.drover({"enqueue", "--batch", "-"}, "{\"type\":\"a\"}\n\n{\"type\":\"b\",\"priority\":77}\n");
  expect_refused(outcome, 1, "invalid_argument");
  EXPECT_TRUE(contains(outcome.err, "stdin:3"));
  EXPECT_TRUE(contains(outcome.err, "priority"));
}

TEST_F(BadInputTest, WrongTypesAndUnknownFields) {
  for (const char* line : {R"([])",
                           R"("work")",
                           R"({})",
                           R"({"type":1})",
                           R"({"type":"no spaces"})",
                           R"({"type":""})",
                           R"({"type":"work","priority":"x"})",
                           R"({"type":"work","priority":10})",
                           R"({"type":"work","priority":1.5})",
                           R"({"type":"work","tags":"red"})",
                           R"({"type":"work","tags":[1]})",
                           R"({"type":"work","delay":5})",
                           R"({"type":"work","delay":"-5s"})",
                           R"({"type":"work","run_at":"tomorrow"})",
                           R"({"type":"work","max_attempts":0})",
                           R"({"type":"work","retry":"often"})",
                           R"({"type":"work","on_parent_failure":"shrug"})",
                           R"({"type":"work","at_most_once":"yes"})",
                           R"({"type":"work","depends_on":"@a"})",
                           R"({"type":"work","depends_on":["nobody"]})",
                           R"({"type":"work","id":"1"})",
                           R"({"type":"work","state":"completed"})",
                           R"({"type":"work","paylod":1})"}) {
    expect_bad_line(line, "invalid_argument");
  }
}

TEST_F(BadInputTest, Cycles) {
  expect_bad_line(R"({"type":"work","ref":"a","depends_on":["@a"]})", "cycle");
  expect_bad_line(
      "{\"type\":\"work\",\"ref\":\"a\",\"depends_on\":[\"@b\"]}\n"
      "{\"type\":\"work\",\"ref\":\"b\",\"depends_on\":[\"@c\"]}\n"
      "{\"type\":\"work\",\"ref\":\"c\",\"depends_on\":[\"@a\"]}",
      "cycle");
}

TEST_F(BadInputTest, UnknownParents) {
  expect_unchanged({"enqueue", "work", "--after", kNobody}, "", 1, "unknown_parent");
  expect_bad_line(fmt::format(R"({{"type":"work","depends_on":["{}"]}})", kNobody), "unknown_parent");
  expect_bad_line(R"({"type":"work","depends_on":["@nobody"]})", "unknown_parent");
}

TEST_F(BadInputTest, OversizePayloads) {
  expect_bad_payload("\"" + std::string(1 << 20, 'x') + "\"", "payload_too_large");
  expect_bad_line("{\"type\":\"work\",\"payload\":\"" + std::string(1 << 20, 'x') + "\"}", "payload_too_large");
  std::string many;
  for (int i = 0; i < 10'001; ++i) many += "{\"type\":\"work\"}\n";
  expect_unchanged({"enqueue", "--batch", "-"}, many, 1, "limit_exceeded");
}

TEST_F(BadInputTest, UnknownStates) {
  const std::string before = sandbox.dump();
  const Outcome outcome = sandbox.drover({"list", "--state", "pending,lost"});
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_TRUE(contains(outcome.err, "\"lost\""));
  EXPECT_TRUE(contains(outcome.err, "stalled"));
  EXPECT_EQ(sandbox.dump(), before);
}

TEST_F(BadInputTest, MissingFilesAndEmptyBatches) {
  expect_unchanged({"enqueue", "work", "--payload", "@no-such-file"}, "", 1, "invalid_argument");
  expect_unchanged({"enqueue", "--batch", "no-such-file"}, "", 1, "invalid_argument");
  expect_unchanged({"enqueue", "--batch", "-"}, "\n \n", 1, "invalid_argument");
}

TEST_F(BadInputTest, WrongStates) {
  expect_unchanged({"retry", first_}, "", 6, "wrong_state");
  work_until_empty("work", agentsim());
  expect_unchanged({"cancel", first_}, "", 6, "wrong_state");
  expect_unchanged({"retry", first_}, "", 6, "wrong_state");
}

// ---- stores

class BadStoreTest : public E2eTest {
 protected:
  static constexpr std::size_t kTasks = 50;

  void SetUp() override {
    std::string batch;
    for (std::size_t i = 0; i < kTasks; ++i) batch += "{\"type\":\"work\",\"payload\":[1]}\n";
    sandbox.must({"enqueue", "--batch", "-"}, batch);
    fold_log();
  }

  // Everything into the one file, so that damage to it is damage to the store.
  void fold_log() { execute("PRAGMA wal_checkpoint(TRUNCATE)"); }

  void execute(const char* sql) {
    sqlite3* db = nullptr;
    ASSERT_EQ(sqlite3_open(sandbox.store_path().c_str(), &db), SQLITE_OK);
    EXPECT_EQ(sqlite3_exec(db, sql, nullptr, nullptr, nullptr), SQLITE_OK) << sqlite3_errmsg(db);
    sqlite3_close(db);
  }
  void overwrite(std::size_t offset, const std::string& bytes) {
    std::fstream file(sandbox.store_path(), std::ios::binary | std::ios::in | std::ios::out);
    file.seekp(static_cast<std::streamoff>(offset));
    file << bytes;
  }

  void expect_store_refused(const Arguments& arguments, int exit_code, const std::string& code) {
    SCOPED_TRACE(arguments.front());
    const std::string before = read_file(sandbox.store_path());
    expect_refused(sandbox.drover(arguments), exit_code, code);
    EXPECT_EQ(read_file(sandbox.store_path()), before) << "the file was changed";
  }
};

TEST_F(BadStoreTest, AFileThatIsNoDatabase) {
  std::filesystem::remove(sandbox.store_path() + "-wal");
  overwrite(0, std::string(8'192, 'x'));
  for (const Arguments& verb : std::vector<Arguments>{
           {"list", "--json"}, {"enqueue", "work"}, {"fsck"}, {"work", "--type", "work", "--", "/bin/true"}}) {
    expect_store_refused(verb, 1, "store_damaged");
  }
}

TEST_F(BadStoreTest, DamagedPages) {
  const std::size_t size = std::filesystem::file_size(sandbox.store_path());
  overwrite(4'096, std::string(size - 4'096, '\xAA'));
  for (const Arguments& verb : std::vector<Arguments>{{"list", "--json"}, {"enqueue", "work"}}) {
    expect_store_refused(verb, 1, "store_damaged");
  }
}

// Of the last page, which leaves the schema whole, and of all but the first.
TEST_F(BadStoreTest, FsckSaysWhatToDoAboutDamagedPages) {
  const std::size_t size = std::filesystem::file_size(sandbox.store_path());
  const std::size_t last_page = size - 4'096;
  overwrite(last_page, std::string(4'096, '\xAA'));
  EXPECT_TRUE(contains(sandbox.drover({"fsck"}).out, "database_damaged"));
  for (const Arguments& verb : std::vector<Arguments>{{"fsck"}, {"fsck", "--repair"}, {"fsck", "--json"}}) {
    if (verb.back() == "--json") overwrite(4'096, std::string(size - 4'096, '\xAA'));
    const Outcome outcome = sandbox.drover(verb);
    EXPECT_EQ(outcome.exit_code, 1);
    EXPECT_TRUE(contains(outcome.err, "restore a backup")) << verb.back();
    EXPECT_TRUE(contains(outcome.err, ".recover"));
    EXPECT_FALSE(contains(outcome.out + outcome.err, "SELECT")) << outcome.out << outcome.err;
    EXPECT_FALSE(contains(outcome.err, "run drover fsck"));
  }
}

TEST_F(BadStoreTest, ADatabaseOfAnotherProgram) {
  const std::string path = sandbox.file("other.db");
  sqlite3* db = nullptr;
  ASSERT_EQ(sqlite3_open(path.c_str(), &db), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(db, "CREATE TABLE notes(text); INSERT INTO notes VALUES ('mine')", nullptr, nullptr, nullptr),
            SQLITE_OK);
  sqlite3_close(db);
  const std::string before = read_file(path);
  expect_refused(sandbox.drover({"enqueue", "work", "--store", "sqlite:" + path}), 1, "store_damaged");
  EXPECT_EQ(read_file(path), before);
}

TEST_F(BadStoreTest, ANewerSchema) {
  execute("UPDATE meta SET value = '999' WHERE key = 'schema_version'");
  fold_log();
  for (const Arguments& verb : std::vector<Arguments>{{"list"}, {"enqueue", "work"}, {"fsck", "--repair"}}) {
    expect_store_refused(verb, 1, "schema_too_new");
  }
  execute("UPDATE meta SET value = '1' WHERE key = 'schema_version'");
  EXPECT_EQ(sandbox.must_json({"list", "--json"}).as_array()->size(), kTasks);
}

TEST_F(BadStoreTest, AFolderThatCannotBeMade) {
  sandbox.write_file("in-the-way", "");
  const Outcome outcome =
      sandbox.drover({"enqueue", "work", "--store", "sqlite:" + sandbox.file("in-the-way/drover.db")});
  expect_refused(outcome, 7, "store_unavailable");
}

TEST_F(BadStoreTest, FsckRepairsAnIndexThatDoesNotAgree) {
  const std::string id = sandbox.enqueue({"work", "--tag", "red"});
  execute("DELETE FROM tag");
  EXPECT_EQ(sandbox.must({"list", "-q", "--tag", "red"}), "");
  const Outcome found = sandbox.drover({"fsck", "--json"});
  EXPECT_EQ(found.exit_code, 1) << found.out;
  EXPECT_TRUE(contains(found.out, id));
  EXPECT_EQ(sandbox.drover({"fsck", "--repair"}).exit_code, 0);
  EXPECT_EQ(sandbox.must({"fsck", "--json"}), "[]\n");
  EXPECT_EQ(sandbox.must({"list", "-q", "--tag", "red"}), id + "\n");
}

TEST_F(BadStoreTest, FsckTellsWhatItCannotRepair) {
  execute("UPDATE task SET state = 5 WHERE seq = 1");
  const Outcome found = sandbox.drover({"fsck", "--repair", "--json"});
  EXPECT_EQ(found.exit_code, 1) << found.out;
  EXPECT_TRUE(contains(found.out, "\"repaired\":false"));
}

}  // namespace
}  // namespace drover::e2e
