// The store as a simulated process sees it: every call passes the process on its way there and back.
#pragma once

#include "base/check.h"
#include "base/try.h"
#include "support/gated_store.h"

namespace drover::sim {

class StoreGate {
 public:
  virtual ~StoreGate() = default;
  // An error: the call is not made. It may let others have their turn.
  [[nodiscard]] virtual Status before_call() = 0;
  // An error: the call was made, and its answer is lost.
  [[nodiscard]] virtual Status after_call(StoreCall call) = 0;
  // What TaskQueue::changes() is to say.
  [[nodiscard]] virtual std::uint64_t changes_seen() = 0;
};

class SimStore final : public GatedStore {
 public:
  explicit SimStore(StoreGate& gate) : gate_(gate) {}
  // The store behind the gate; outlives its use.
  void connect(Store* inner) { inner_ = inner; }

  // The clock needs no store.
  Result<Time> now() override { return inner_->now(); }
  Result<StoreClocks> clocks() override { return inner_->clocks(); }
  std::uint64_t changes() override { return gate_.changes_seen(); }
  void wait_for_change(std::uint64_t /*seen*/, Millis /*timeout*/) override {
    CHECK_MSG(false, "nothing waits in a simulation: actors are woken");
  }
  void wait_for_work(std::span<const Serve> /*serves*/, std::uint64_t seen, Millis timeout,
                     const std::stop_token& /*stop*/) override {
    wait_for_change(seen, timeout);
  }

 private:
  Store& inner() override { return *inner_; }
  Status guard(StoreCall call, const std::function<void()>& make) override {
    TRY(gate_.before_call());
    make();
    return gate_.after_call(call);
  }

  StoreGate& gate_;
  Store* inner_ = nullptr;
};

}  // namespace drover::sim
