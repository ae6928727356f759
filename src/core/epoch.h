// Epochs and marks: how a store that went backwards is noticed. See docs/internals/store-epochs.md.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "drover/error.h"
#include "drover/task_queue.h"

namespace drover {

// A stretch of time in which a store cannot have gone back.
struct Epoch {
  enum class Cause : std::uint8_t {
    kCreated,
    kRestarted,  // the server is another run than before
    kRegressed,  // somebody found it behind what had been seen
    kAccepted,   // an operator knows what was lost
    kRestored,   // the store is another copy of the data than before, or took a dump
  };

  std::int64_t number = 0;  // grows from one to the next
  std::string id;           // random
  std::int64_t after = 0;   // the last event before it began
  Cause cause = Cause::kCreated;

  bool operator==(const Epoch&) const = default;
};
[[nodiscard]] std::string_view name_of(Epoch::Cause cause);
[[nodiscard]] std::optional<Epoch::Cause> parse_epoch_cause(std::string_view name);

// How far a store has been seen to be.
struct Mark {
  std::int64_t number = 0;  // of the epoch; 0: nothing was seen
  std::string epoch;
  std::int64_t seq = 0;  // of the last event

  bool operator==(const Mark&) const = default;
};

// A mark of a store that others may know, too. As text: "STORE:EPOCH:NUMBER:SEQ".
struct StoreMark {
  std::string store;  // its first epoch, which all copies of it have in common
  Mark mark;

  bool operator==(const StoreMark&) const = default;
};
[[nodiscard]] std::string to_string(const StoreMark& mark);
[[nodiscard]] std::optional<StoreMark> parse_store_mark(std::string_view text);

// Events that were acknowledged and are gone.
struct Loss {
  std::int64_t first = 0;
  std::int64_t last = 0;

  bool operator==(const Loss&) const = default;
};
[[nodiscard]] std::string to_string(const Loss& loss);  // "events 4991 to 5012"

// A store as it is now: its epochs, oldest first and at least one, and its last event.
struct StoreExtent {
  std::vector<Epoch> epochs;
  std::int64_t seq = 0;

  [[nodiscard]] Mark mark() const { return {epochs.back().number, epochs.back().id, seq}; }
};

// What a process knows of the store that it has open.
struct StoreState {
  StoreExtent extent;
  std::optional<Loss> loss;           // as far as this process knows
  std::vector<Finding> missing = {};  // core/inventory.h
};

// The event that tells of an acceptance, and its data: which events were lost.
inline constexpr std::string_view kRegressionAccepted = "store.regression_accepted";
[[nodiscard]] JsonText acceptance_data(const std::optional<Loss>& loss);

// What is gone of what was seen, and whether an operator has accepted it since.
[[nodiscard]] std::optional<Loss> find_loss(const StoreExtent& extent, const Mark& seen);
[[nodiscard]] bool is_accepted(const StoreExtent& extent, const Mark& seen);
// Whether a mark that somebody else tells of is one of this store (of an epoch that it knows, or has lost), and more
// than it has, which nobody has accepted.
[[nodiscard]] bool reveals_loss(const StoreExtent& extent, const StoreMark& told);

// The epochs of a store that took a dump: the dump's, whose first one names the store, then the store's own. Those
// begin behind the last event of the dump, whatever that number is in this store: marks of the dumped store count in
// its own numbers.
[[nodiscard]] std::vector<Epoch> join_epochs(const StoreExtent& dumped, std::span<const Epoch> own);
// kInvalidArgument: no store could have such epochs.
[[nodiscard]] Status check_extent(const StoreExtent& extent);

}  // namespace drover
