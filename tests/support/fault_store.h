// FaultStore: any store with faults in front of it, for tests.
//
// Faults are scripted per call ("the second apply from now is applied, but its answer is lost") or drawn with a seed.
// Safe from any thread.
#pragma once

#include <array>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/rng.h"
#include "support/gated_store.h"

namespace drover {

struct StoreFault {
  enum class Kind : std::uint8_t {
    kFailBefore,  // the call is not made
    kLoseAnswer,  // the call is made, and its answer is lost: the caller cannot know
    kConflict,    // of apply: every group is answered with kConflict, nothing is written
  };
  Kind kind = Kind::kFailBefore;
  Error error{ErrorCode::kStoreUnavailable, "a fault of a test", "fault"};
};

class FaultStore final : public GatedStore {
 public:
  // How likely each kind is, per call.
  struct Odds {
    double fail_before = 0;
    double lose_answer = 0;
    double conflict = 0;
  };

  // `inner` outlives it.
  explicit FaultStore(Store& inner) : inner_(inner) {}

  // The next `times` such calls, after `skip` that pass, meet the fault. Scripts for one call queue up.
  void script(StoreCall call, StoreFault fault, int times = 1, int skip = 0);
  // From now on calls without a script meet faults at random.
  void randomise(std::uint64_t seed, Odds odds);
  // No more faults.
  void heal();
  [[nodiscard]] int calls(StoreCall call) const;

  Result<std::vector<Applied>> apply(std::span<const StepGroup> groups) override;

 private:
  struct Script {
    StoreFault fault;
    int skip = 0;
    int times = 0;
  };

  [[nodiscard]] std::optional<StoreFault> next_fault(StoreCall call);
  [[nodiscard]] std::optional<StoreFault> scripted(std::vector<Script>& scripts);
  [[nodiscard]] std::optional<StoreFault> drawn(StoreCall call);
  [[nodiscard]] static Status meet(const std::optional<StoreFault>& fault, const std::function<void()>& make);
  Status guard(StoreCall call, const std::function<void()>& make) override { return meet(next_fault(call), make); }
  Store& inner() override { return inner_; }

  Store& inner_;
  mutable std::mutex mutex_;  // guards what follows
  std::array<std::vector<Script>, kStoreCallCount> scripts_;
  std::array<int, kStoreCallCount> calls_{};
  std::optional<SeededRng> rng_;
  Odds odds_;
};

}  // namespace drover
