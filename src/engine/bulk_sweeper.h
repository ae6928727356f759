// Carries bulk operations out: one bounded step at a time, by whichever process sweeps.
//
// A step reads a page of tasks, decides on each as the single verb would, and writes all of it together with the
// operation's record. So a process that dies leaves either the whole step or nothing of it, and two that sweep at once
// do it once: the second finds another version of the record.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/bulk_document.h"
#include "engine/engine.h"

namespace drover {

class BulkSweeper {
 public:
  explicit BulkSweeper(Engine& engine) : engine_(engine) {}

  // One step of the operation whose turn it is. How many tasks it was about; 0 if none runs.
  [[nodiscard]] Result<int> run_once();
  // Drops operations that ended long ago.
  [[nodiscard]] Status forget_ended(Time long_ago);

 private:
  struct Item {
    TaskId id;
    std::optional<TaskRecord> record;
  };
  struct Page {
    std::vector<Item> items{};
    std::optional<std::string> cursor{};  // by filter: where the next one starts
    bool is_last = false;
  };
  struct Decided {
    StepGroup group{};
    std::vector<std::pair<TaskId, Status>> outcomes{};
  };
  enum class Went : std::uint8_t { kDone, kAgain };

  Result<Went> try_step(BulkDocument& document, BulkRecord& record);
  Result<Page> read_page(const BulkRecord& record);
  Result<Decided> decide_page(const BulkOrder& order, const Page& page, Time now);
  Result<StepGroup> decide_item(const BulkOrder& order, const struct VerbScene& scene, const Item& item);
  Result<Applied> write(StepGroup group);
  void note_refusal(const Page& page, Applied verdict);

  Engine& engine_;
  int page_size_ = kPageSizeMax;  // smaller after a conflict
  int looked_at_ = 0;
  std::map<TaskId, Error> refused_;  // by the store, in this step
  int conflicts_ = 0;                // of a page of one task, in this step

  static constexpr int kPageSizeMax = 256;
};

}  // namespace drover
