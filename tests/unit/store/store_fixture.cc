#include "unit/store/store_fixture.h"

#include <fmt/format.h>

namespace drover::test {
namespace {

template <class Id>
Id numbered(int number, std::uint8_t kind) {
  typename Id::Bytes bytes{};
  bytes[0] = kind;
  bytes[14] = static_cast<std::uint8_t>(number >> 8);
  bytes[15] = static_cast<std::uint8_t>(number);
  return Id(bytes);
}

SqliteOptions file_options(const std::string& path) {
  SqliteOptions options;
  options.path = path;
  options.ballast_bytes = kNoBallast;
  // No power is cut here; this spares the disk.
  options.synchronous = SqliteOptions::Synchronous::kNormal;
  return options;
}

}  // namespace

TaskId id_of(int number) {
  return numbered<TaskId>(number, 0x01);
}
LeaseId lease_of(int number) {
  return numbered<LeaseId>(number, 0x02);
}

TaskRecord new_record(int number) {
  TaskRecord record;
  record.task.id = id_of(number);
  record.task.type = "build";
  record.task.queue = "build";
  record.task.owner = "ann";
  return record;
}

StepGroup group_of(std::vector<Step> steps) {
  StepGroup group;
  group.steps = std::move(steps);
  return group;
}

StoreUnderTest::StoreUnderTest() : StoreUnderTest(SqliteOptions()) {}

StoreUnderTest::StoreUnderTest(const std::string& path) : StoreUnderTest(file_options(path)) {}

StoreUnderTest::StoreUnderTest(SqliteOptions options) {
  reopen(std::move(options));
}

void StoreUnderTest::reopen(SqliteOptions options) {
  store_.reset();
  options.clock = clock_.get();
  store_ = must(open_sqlite(std::move(options)));
}

void StoreUnderTest::reopen(const std::string& path) {
  reopen(file_options(path));
}

Result<std::vector<Applied>> StoreUnderTest::try_add(std::vector<TaskRecord> records, Capacity capacity) {
  StepGroup group;
  group.capacity = capacity;
  for (TaskRecord& record : records) {
    record.task.created_at = clock_->wall();
    group.steps.push_back(first_step(std::move(record), context()));
  }
  return store_->apply(std::vector{std::move(group)});
}

TaskRecord StoreUnderTest::add(TaskRecord record) {
  const TaskId id = record.task.id;
  EXPECT_EQ(must(try_add({std::move(record)})), std::vector{Applied::kDone});
  return read(id);
}

TaskRecord StoreUnderTest::step(const TaskId& id, const Trigger& trigger) {
  Step step = must(decide(read(id), trigger, context()));
  EXPECT_EQ(must(store_->apply(std::vector{group_of({std::move(step)})})), std::vector{Applied::kDone});
  return read(id);
}

std::vector<TaskRecord> StoreUnderTest::claim(int n, int first_lease) {
  ClaimRequest request;
  request.worker_id = "host:1:w";
  request.serves = {{"build", std::nullopt}};
  request.n = n;
  std::vector<LeaseId> leases;
  for (int i = 0; i < n; ++i) leases.push_back(lease_of(first_lease + i));
  return must(store_->claim(request, leases, std::nullopt)).records;
}

TaskRecord StoreUnderTest::read(const TaskId& id) {
  const auto records = must(store_->read(std::vector{id}, Parts::kAll));
  if (!records.at(0)) throw std::runtime_error("no such task");
  return *records[0];
}

RawDatabase::RawDatabase(const std::string& path) {
  if (sqlite3_open(path.c_str(), &db_) != SQLITE_OK) throw std::runtime_error("cannot open " + path);
  sqlite3_busy_timeout(db_, 1000);
  sqlite3_db_config(db_, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
}

RawDatabase::~RawDatabase() {
  sqlite3_close(db_);
}

void RawDatabase::run(const std::string& sql) {
  char* message = nullptr;
  if (sqlite3_exec(db_, sql.c_str(), nullptr, nullptr, &message) != SQLITE_OK) {
    const std::string text = message != nullptr ? message : "";
    sqlite3_free(message);
    throw std::runtime_error(fmt::format("{}: {}", sql, text));
  }
}

std::string RawDatabase::text(const std::string& sql) {
  sqlite3_stmt* stmt = nullptr;
  if (sqlite3_prepare_v2(db_, sql.c_str(), -1, &stmt, nullptr) != SQLITE_OK) {
    throw std::runtime_error(fmt::format("{}: {}", sql, sqlite3_errmsg(db_)));
  }
  std::string value;
  if (sqlite3_step(stmt) == SQLITE_ROW && sqlite3_column_type(stmt, 0) != SQLITE_NULL) {
    value = reinterpret_cast<const char*>(sqlite3_column_text(stmt, 0));
  }
  sqlite3_finalize(stmt);
  return value;
}

std::int64_t RawDatabase::number(const std::string& sql) {
  const std::string value = text(sql);
  return value.empty() ? 0 : std::stoll(value);
}

std::vector<std::string> codes_of(const std::vector<Finding>& findings) {
  std::vector<std::string> codes;
  for (const Finding& finding : findings) codes.push_back(finding.code);
  return codes;
}

std::vector<std::string> names_of(const std::vector<Event>& events) {
  std::vector<std::string> names;
  for (const Event& event : events) names.push_back(event.name);
  return names;
}

}  // namespace drover::test
