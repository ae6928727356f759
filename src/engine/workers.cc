// The registry of workers: who is there, who has to go.
#include "engine/workers.h"

#include <fmt/format.h>

#include "base/text.h"
#include "base/try.h"
#include "core/spec_check.h"
#include "engine/engine.h"

namespace drover {

namespace {

constexpr std::size_t kReasonBytesMax = 1'000;

Status check_reason(std::string_view reason) {
  if (reason.size() <= kReasonBytesMax && is_utf8(reason)) return {};
  return fail(ErrorCode::kInvalidArgument, fmt::format("a reason is UTF-8 of at most {} bytes", kReasonBytesMax));
}

}  // namespace

Status check_worker_id(std::string_view id) {
  if (!is_name(id)) return fail(ErrorCode::kInvalidArgument, quoted_excerpt(id) + " is not a worker id");
  return {};
}

Status check_serves(std::span<const Serve> serves) {
  for (const Serve& serve : serves) {
    if (auto valid = check_name(serve.queue); !valid) return at_field("queue", std::move(valid.error()));
    if (auto valid = check_reason(serve.trouble); !valid) return at_field("trouble", std::move(valid.error()));
    if (!serve.type) continue;
    if (auto valid = check_name(*serve.type); !valid) return at_field("type", std::move(valid.error()));
  }
  return {};
}

Status Engine::register_worker(const WorkerInfo& worker) {
  TRY(check_worker_id(worker.id));
  TRY(check_serves(worker.serves));
  if (worker.capacity < 1)
    return drover::fail(ErrorCode::kInvalidArgument, "a worker needs room for at least one task");
  if (worker.workspace_bytes < 0)
    return at_field("workspace_bytes", {ErrorCode::kInvalidArgument, "workspaces cannot have less than no bytes"});
  return store_.register_worker(worker);
}

Status Engine::unregister_worker(const std::string& worker_id, const std::string& reason) {
  TRY(check_worker_id(worker_id));
  TRY(check_reason(reason));
  return store_.unregister_worker(worker_id, reason);
}

Status Engine::drain_worker(const DrainOrder& order) {
  TRY(check_worker_id(order.worker_id));
  TRY(check_reason(order.why));
  TRY(check_reason(order.by));
  const auto found = TRY(store_.drain_worker(order));
  if (!found) return drover::fail(ErrorCode::kNotFound, fmt::format("there is no worker {}", order.worker_id));
  return {};
}

Result<std::vector<WorkerInfo>> Engine::workers() {
  return store_.workers();
}

Result<std::optional<WorkerInfo>> Engine::worker(const std::string& worker_id) {
  TRY(check_worker_id(worker_id));
  return store_.worker(worker_id);
}

}  // namespace drover
