// What workers say, and what they are told.
#include "base/json_reader.h"
#include "wire/read.h"
#include "wire/read_names.h"
#include "wire/write.h"

namespace drover {
using json::Reader;

Status read_members(Reader& in, Completion& out) {
  in.get_any_text("result", out.result).get("exit_code", out.exit_code);
  return in.finish_strictly();
}

Status read_members(Reader& in, Failure& out) {
  in.need("class", out.error_class).get("message", out.message).get("retry_after_ms", out.retry_after);
  in.get("exit_code", out.exit_code).get("note", out.note);
  return in.finish_strictly();
}

Status read_members(Reader& in, Release& out) {
  std::optional<bool> begun;
  in.get("begun", begun);
  out.begun = begun.value_or(true) ? Begun::kMaybe : Begun::kNo;
  return in.finish_strictly();
}

Status read_members(Reader& in, CancelConfirmed& out) {
  in.get("exit_code", out.exit_code);
  return in.finish_strictly();
}

Status read_json(std::string_view json, Serve& out) {
  Reader in(json);
  in.need("queue", out.queue).get("type", out.type).get("trouble", out.trouble);
  return in.finish();
}

Status read_json(std::string_view json, WorkerInfo& out) {
  Reader in(json);
  in.need("id", out.id).need("version", out.version).need("serves", out.serves).get("capacity", out.capacity);
  in.get("registered_at", out.registered_at).get("last_beat_at", out.last_beat_at).get("draining", out.draining);
  in.get("drain_by", out.drain_by).get("drain_reason", out.drain_reason).get("running", out.running);
  in.get("token_id", out.token_id);
  return in.finish();
}

Status read_json(std::string_view json, Lease& out) {
  Reader in(json);
  in.need("task_id", out.task).need("lease_id", out.id);
  return in.finish();
}

Status read_json(std::string_view json, LeaseState& out) {
  return read_name(json, out, "lease state", [](std::string_view name) -> std::optional<LeaseState> {
    for (const LeaseState state : {LeaseState::kHeld, LeaseState::kCancelRequested, LeaseState::kLost}) {
      if (name_of(state) == name) return state;
    }
    return std::nullopt;
  });
}

Status read_json(std::string_view json, ClaimRequest& out) {
  Reader in(json);
  Millis wait{0};  // the server's business
  in.get("worker_id", out.worker_id).need("serves", out.serves).get("n", out.n).get("lease_ms", out.lease);
  in.get("capacity", out.capacity).get("running_priorities", out.running_priorities).get("wait_ms", wait);
  return in.finish_strictly();
}

Status read_json(std::string_view json, ClaimedTask& out) {
  Reader in(json);
  in.need("task", out.task).need("lease_id", out.lease.id).need("earlier_runs", out.earlier_runs);
  out.lease.task = out.task.id;
  return in.finish();
}

Status read_json(std::string_view json, Beat& out) {
  Reader in(json);
  in.need("leases", out.leases).need("drain", out.drain);
  return in.finish();
}

Status read_json(std::string_view json, Settlement& out) {
  Reader in(json);
  std::string end;
  in.need("task_id", out.lease.task).need("lease_id", out.lease.id).need("end", end);
  if (end == "complete") return read_members(in, out.end.emplace<Completion>());
  if (end == "fail") return read_members(in, out.end.emplace<Failure>());
  if (end == "release") return read_members(in, out.end.emplace<Release>());
  if (end == "cancelled") return read_members(in, out.end.emplace<CancelConfirmed>());
  in.refuse("end: expected complete, fail, release or cancelled");
  return in.finish();
}

}  // namespace drover
