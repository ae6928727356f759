// Claim, renew and what a running task says of itself.
#include <fmt/format.h>

#include <algorithm>

#include "base/json.h"
#include "base/text.h"
#include "base/try.h"
#include "core/spec_check.h"
#include "engine/engine.h"
#include "engine/filled_task.h"
#include "engine/spec.h"
#include "engine/workers.h"

namespace drover {

namespace {

constexpr int kClaimMax = 1'000;
constexpr int kClaimCallsMax = 64;
constexpr int kEarlierRunsMax = 10;

Status check_claim(const ClaimRequest& request) {
  TRY(check_worker_id(request.worker_id));
  if (request.n < 1 || request.n > kClaimMax) {
    return fail(ErrorCode::kInvalidArgument, fmt::format("a claim takes 1 to {} tasks, not {}", kClaimMax, request.n));
  }
  if (request.capacity < 0) return fail(ErrorCode::kInvalidArgument, "a worker's capacity is not negative");
  if (request.serves.empty()) return fail(ErrorCode::kInvalidArgument, "a claim must name a queue or a type");
  TRY(check_serves(request.serves));
  if (request.claim_key) {
    if (auto valid = check_name(*request.claim_key); !valid) return at_field("claim_key", std::move(valid.error()));
  }
  return check_lease_length(request.lease);
}

// Of the queues that it serves the one that sets most slots aside decides. A worker always has a slot for everybody:
// one with a single slot would else never do what is not urgent.
std::optional<ReservedSlots> reserved_slots(const ClaimRequest& request, const Policy& policy) {
  if (request.capacity == 0) return std::nullopt;
  const Reserve* most = nullptr;
  for (const Serve& serve : request.serves) {
    const auto queue = policy.queues.find(serve.queue);
    if (queue == policy.queues.end()) continue;
    const std::optional<Reserve>& reserve = queue->second.reserve;
    if (reserve && (most == nullptr || reserve->slots > most->slots)) most = &*reserve;
  }
  if (most == nullptr) return std::nullopt;
  const auto is_other = [&](int priority) { return priority > most->priority; };
  const auto running = static_cast<int>(std::ranges::count_if(request.running_priorities, is_other));
  const int for_others = std::max(1, request.capacity - most->slots);
  return ReservedSlots{.rank = most->priority, .n_others = std::clamp(for_others - running, 0, request.n)};
}

// What the policy has come to refuse since it was stored fails here, for good, and stands in nobody's way.
Settlement refusal_of(const TaskRecord& record, const Error& why) {
  // The store could not be read just now: the task is as good as before.
  if (error_info(why.code).retryable == Retryable::kYes) {
    return {Lease{record.task.id, record.lease}, Release{Begun::kNo}};
  }
  const bool unknown = why.code == ErrorCode::kUnknownType;
  return {
      Lease{record.task.id, record.lease},
      Failure{.error_class = unknown ? ErrorClass::kUnknownType : ErrorClass::kInvalidPayload, .message = why.message}};
}

}  // namespace

std::vector<LeaseId> Engine::new_lease_ids(int n) {
  std::vector<LeaseId> ids;
  ids.reserve(static_cast<std::size_t>(n));
  for (int i = 0; i < n; ++i) ids.push_back(new_lease_id(rng_));
  return ids;
}

// One call of the store does a bounded amount of work: as long as it only parks and wakes lanes, it is asked again.
Result<Claimed> Engine::claim_records(const ClaimRequest& request, const Policy& policy) {
  const std::vector<LeaseId> lease_ids = new_lease_ids(request.n);
  const auto reserved = reserved_slots(request, policy);
  for (int call = 1;; ++call) {
    auto taken = store_.claim(request, lease_ids, reserved);
    if (taken && taken->unknown_worker) {
      return drover::fail(ErrorCode::kUnknownWorker,
                          fmt::format("no worker {} is registered, and a claim with a key needs one",
                                      quoted_excerpt(request.worker_id)));
    }
    if (!taken || !taken->records.empty() || !taken->more || call == kClaimCallsMax) return taken;
  }
}

bool Engine::fail_refused(std::vector<TaskRecord>& records, const Policy& policy, FilledTasks& filled) {
  std::vector<Settlement> refused;
  std::erase_if(records, [&](const TaskRecord& record) {
    const Task& task = record.task;
    Status valid = check_stored(task, policy);
    if (valid && task.templates) {
      auto whole = filled_task(store_, task, policy);
      if (whole) {
        filled.emplace(task.id, *std::move(whole));
      } else {
        valid = std::unexpected(whole.error());
      }
    }
    if (!valid) refused.push_back(refusal_of(record, valid.error()));
    return !valid;
  });
  // One that could not be ended keeps its lease until that runs out, and comes here again.
  if (!refused.empty()) (void)settle(refused);
  return !refused.empty();
}

Result<std::vector<ClaimedTask>> Engine::claim(const ClaimRequest& request) {
  TRY(check_claim(request));
  auto policy = TRY(this->policy());
  if (policy->has_budgets) TRY(begin_periods(policy, TRY(store_.now())));
  ClaimRequest asked = request;
  for (int call = 1;; ++call) {
    auto taken = TRY(claim_records(asked, *policy));
    FilledTasks filled;
    const bool refused = fail_refused(taken.records, *policy, filled);
    asked.takes_others = true;
    if (taken.records.empty() && refused && call < kClaimCallsMax) continue;
    return handed_out(std::move(taken.records), filled);
  }
}

class Engine::LeftClaim final : public StandingClaim<ClaimedTask> {
 public:
  LeftClaim(Engine& engine, std::shared_ptr<const Policy> policy, std::unique_ptr<StandingClaim<TaskRecord>> inner)
      : engine_(engine), policy_(std::move(policy)), inner_(std::move(inner)) {}

  bool is_answered() override { return inner_->is_answered(); }

  Result<Taken<ClaimedTask>> withdraw() override {
    auto taken = TRY(inner_->withdraw());
    if (taken.tasks.empty()) return Taken<ClaimedTask>{};
    // They are leased already: better judged by the policy as it was than left lying.
    FilledTasks filled;
    engine_.fail_refused(taken.tasks, *engine_.policy().value_or(policy_), filled);
    return Taken<ClaimedTask>{engine_.handed_out(std::move(taken.tasks), filled), taken.lease_left};
  }

 private:
  Engine& engine_;
  const std::shared_ptr<const Policy> policy_;
  const std::unique_ptr<StandingClaim<TaskRecord>> inner_;
};

Result<std::unique_ptr<StandingClaim<ClaimedTask>>> Engine::leave_claim(const ClaimRequest& request,
                                                                        std::function<void()> on_answer) {
  TRY(check_claim(request));
  // One that stands has no answer that could be lost: it is asked for it until it tells.
  if (request.claim_key) return drover::fail(ErrorCode::kInvalidArgument, "a claim that stands has no key");
  auto policy = TRY(this->policy());
  auto standing = TRY(
      store_.leave_claim(request, new_lease_ids(request.n), reserved_slots(request, *policy), std::move(on_answer)));
  if (standing == nullptr) return nullptr;
  return std::make_unique<LeftClaim>(*this, std::move(policy), std::move(standing));
}

std::vector<ClaimedTask> Engine::handed_out(std::vector<TaskRecord> records, FilledTasks& filled) {
  std::vector<ClaimedTask> claimed;
  claimed.reserve(records.size());
  for (TaskRecord& record : records) {
    recent_.remember_claimed(record);
    ClaimedTask item{std::move(record.task), Lease{{}, record.lease}, {}};
    item.lease.task = item.task.id;
    if (const auto whole = filled.find(item.task.id); whole != filled.end()) item.task = std::move(whole->second);
    if (item.task.run > 1) {
      // Best effort: the lease is ours already, and the history is only advice to the next run.
      if (auto runs = store_.runs(item.task.id, kEarlierRunsMax + 1); runs) {
        std::erase_if(*runs, [&](const RunSummary& run) { return run.run == item.task.run; });
        item.earlier_runs = std::move(*runs);
      }
      if (record.asked > 0) {
        if (auto asked = store_.questions_of(item.task.id); asked) {
          for (QuestionRecord& one : *asked) item.questions.push_back(std::move(one.question));
        }
      }
    }
    claimed.push_back(std::move(item));
  }
  tell_sessions(claimed);
  return claimed;
}

Result<Beat> Engine::renew(const std::string& worker_id, std::span<const Lease> leases, Millis lease) {
  TRY(check_worker_id(worker_id));
  TRY(check_lease_length(lease));
  return store_.renew(worker_id, leases, lease);
}

Status Engine::write_note(Note note) {
  const TaskId id = note.lease.task;
  recent_.forget_claimed(id);
  auto stored = TRY(store_.note(std::span(&note, 1)));
  if (!stored.front())
    return drover::fail(ErrorCode::kStaleLease, fmt::format("this lease of task {} has ended", id.to_string()));
  return {};
}

Status Engine::progress(const Lease& lease, const Progress& progress) {
  if (progress.percent < 0 || progress.percent > 100) {
    return drover::fail(ErrorCode::kInvalidArgument,
                        fmt::format("percent must be between 0 and 100, not {}", progress.percent));
  }
  constexpr std::size_t kProgressBytesMax = 4'096;
  if (progress.message.size() > kProgressBytesMax || !is_utf8(progress.message)) {
    return drover::fail(ErrorCode::kInvalidArgument,
                        fmt::format("a progress message must be UTF-8 of at most {} bytes", kProgressBytesMax));
  }
  Note note{.lease = lease, .progress = progress, .checkpoint = {}, .log = {}};
  return write_note(std::move(note));
}

Status Engine::append_log(const Lease& lease, std::span<const LogChunk> chunks) {
  if (chunks.empty()) return {};
  Note note{.lease = lease, .progress = {}, .checkpoint = {}, .log = {chunks.begin(), chunks.end()}};
  for (LogChunk& chunk : note.log) chunk.text = to_utf8(chunk.text);
  return write_note(std::move(note));
}

Status Engine::checkpoint(const Lease& lease, const JsonText& value) {
  auto compact = TRY(json::compact(value));
  auto policy = TRY(this->policy());
  const auto bytes_max = static_cast<std::size_t>(policy->limits.payload_bytes);
  if (compact.size() > bytes_max) {
    return drover::fail(ErrorCode::kPayloadTooLarge,
                        fmt::format("the checkpoint has {} bytes; at most {} are kept", compact.size(), bytes_max));
  }
  Note note{.lease = lease, .progress = {}, .checkpoint = std::move(compact), .log = {}};
  return write_note(std::move(note));
}

}  // namespace drover
