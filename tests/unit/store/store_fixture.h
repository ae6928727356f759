// What the tests of the store share: small records, groups and stores.
#pragma once

#include <gtest/gtest.h>
#include <sqlite3.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/rng.h"
#include "core/transition.h"
#include "store/sqlite/sqlite_store.h"
#include "support/manual_clock.h"
#include "support/must.h"
#include "support/temp_dir.h"

namespace drover::test {

inline constexpr std::int64_t kNoBallast = 0;

// Ids, and leases, that are the same in every run.
[[nodiscard]] TaskId id_of(int number);
[[nodiscard]] LeaseId lease_of(int number);

// A task to be, as the engine would hand it to first_step.
[[nodiscard]] TaskRecord new_record(int number);
[[nodiscard]] StepGroup group_of(std::vector<Step> steps);

// One store with an injected clock, and the shortest ways to move tasks in it.
class StoreUnderTest {
 public:
  // In memory, or on a file without ballast.
  StoreUnderTest();
  explicit StoreUnderTest(const std::string& path);
  explicit StoreUnderTest(SqliteOptions options);

  [[nodiscard]] Store& store() { return *store_; }
  [[nodiscard]] Store* operator->() { return store_.get(); }
  [[nodiscard]] ManualClock& clock() { return *clock_; }
  void close() { store_.reset(); }
  void reopen(SqliteOptions options);
  void reopen(const std::string& path);

  [[nodiscard]] DecisionContext context() { return {.now = clock_->wall(), .unit = 0.5}; }

  // Each must succeed.
  TaskRecord add(TaskRecord record);
  TaskRecord add(int number) { return add(new_record(number)); }
  TaskRecord step(const TaskId& id, const Trigger& trigger);
  std::vector<TaskRecord> claim(int n, int first_lease = 1000);
  TaskRecord read(const TaskId& id);

  [[nodiscard]] Result<std::vector<Applied>> try_add(std::vector<TaskRecord> records, Capacity capacity = {});

 private:
  std::unique_ptr<ManualClock> clock_ = std::make_unique<ManualClock>();
  std::unique_ptr<Store> store_;
};

// A second, plain connection to the file: the hand of someone who damages it, or a witness.
class RawDatabase {
 public:
  explicit RawDatabase(const std::string& path);
  ~RawDatabase();
  RawDatabase(const RawDatabase&) = delete;
  RawDatabase& operator=(const RawDatabase&) = delete;

  void run(const std::string& sql);
  [[nodiscard]] std::int64_t number(const std::string& sql);
  [[nodiscard]] std::string text(const std::string& sql);

 private:
  sqlite3* db_ = nullptr;
};

[[nodiscard]] std::vector<std::string> codes_of(const std::vector<Finding>& findings);
[[nodiscard]] std::vector<std::string> names_of(const std::vector<Event>& events);

}  // namespace drover::test
