#include "support/fault_store.h"

#include "base/check.h"
#include "base/try.h"

namespace drover {

void FaultStore::script(StoreCall call, StoreFault fault, int times, int skip) {
  CHECK(fault.kind != StoreFault::Kind::kConflict || call == StoreCall::kApply);
  const std::lock_guard lock(mutex_);
  scripts_[static_cast<std::size_t>(call)].push_back({std::move(fault), skip, times});
}

void FaultStore::randomise(std::uint64_t seed, Odds odds) {
  const std::lock_guard lock(mutex_);
  rng_.emplace(seed);
  odds_ = odds;
}

void FaultStore::heal() {
  const std::lock_guard lock(mutex_);
  for (std::vector<Script>& scripts : scripts_) scripts.clear();
  rng_.reset();
}

int FaultStore::calls(StoreCall call) const {
  const std::lock_guard lock(mutex_);
  return calls_[static_cast<std::size_t>(call)];
}

std::optional<StoreFault> FaultStore::next_fault(StoreCall call) {
  const std::lock_guard lock(mutex_);
  ++calls_[static_cast<std::size_t>(call)];
  std::vector<Script>& scripts = scripts_[static_cast<std::size_t>(call)];
  return scripts.empty() ? drawn(call) : scripted(scripts);
}

std::optional<StoreFault> FaultStore::scripted(std::vector<Script>& scripts) {
  Script& script = scripts.front();
  if (script.skip > 0) {
    --script.skip;
    return std::nullopt;
  }
  StoreFault fault = script.fault;
  if (--script.times <= 0) scripts.erase(scripts.begin());
  return fault;
}

std::optional<StoreFault> FaultStore::drawn(StoreCall call) {
  if (!rng_) return std::nullopt;
  double draw = rng_->unit();
  const auto falls_within = [&](double share) {
    draw -= share;
    return draw < 0;
  };
  if (falls_within(odds_.fail_before)) return StoreFault{StoreFault::Kind::kFailBefore};
  if (falls_within(odds_.lose_answer)) return StoreFault{StoreFault::Kind::kLoseAnswer};
  if (call == StoreCall::kApply && falls_within(odds_.conflict)) return StoreFault{StoreFault::Kind::kConflict};
  return std::nullopt;
}

Status FaultStore::meet(const std::optional<StoreFault>& fault, const std::function<void()>& make) {
  if (!fault || fault->kind == StoreFault::Kind::kLoseAnswer) make();
  return fault ? Status(std::unexpected(fault->error)) : Status();
}

Result<std::vector<Applied>> FaultStore::apply(std::span<const StepGroup> groups) {
  const std::optional<StoreFault> fault = next_fault(StoreCall::kApply);
  if (fault && fault->kind == StoreFault::Kind::kConflict) return std::vector(groups.size(), Applied::kConflict);
  Result<std::vector<Applied>> answer;
  TRY(meet(fault, [&] { answer = inner_.apply(groups); }));
  return answer;
}

}  // namespace drover
