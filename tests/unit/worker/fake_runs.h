// Runs that start nothing and end when a test says so.
#pragma once

#include <utility>
#include <vector>

#include "worker/runs.h"

namespace drover::test {

class FakeRuns final : public Runs {
 public:
  struct Started {
    ClaimedTask claimed;
    MonoTime expires_at;
  };
  struct Stopped {
    Lease lease;
    StopReason reason;
    bool operator==(const Stopped&) const = default;
  };
  struct Renewal {
    Lease lease;
    MonoTime expires_at;
    bool operator==(const Renewal&) const = default;
  };

  std::vector<Started> started;
  std::vector<Stopped> stopped;
  std::vector<Renewal> renewed;
  std::vector<RunEnded> ended;
  std::vector<Unable> cannot;

  void start(ClaimedTask claimed, MonoTime expires_at) override { started.push_back({std::move(claimed), expires_at}); }
  void lease_renewed(const Lease& lease, MonoTime expires_at) override { renewed.push_back({lease, expires_at}); }
  void stop(const Lease& lease, StopReason reason) override { stopped.push_back({lease, reason}); }
  [[nodiscard]] std::vector<RunEnded> take_ended() override { return std::exchange(ended, {}); }
  [[nodiscard]] std::vector<Unable> unable() override { return cannot; }
};

}  // namespace drover::test
