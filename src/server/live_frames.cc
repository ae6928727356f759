#include "server/live_frames.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/json.h"
#include "core/task_json.h"

namespace drover::server {
namespace {

struct OtherName {
  std::string_view name;
  std::string_view other;
};
// Whatever is not here has no other name, and is not told. An end also ends what the task wrote.
constexpr auto kOrchestratorNames = std::to_array<OtherName>({
    {"task.enqueued", "orchestrator_job_queued"},
    {"task.claimed", "orchestrator_job_started"},
    {"task.progressed", "orchestrator_job_progress"},
    {"task.completed", "orchestrator_job_completed"},
    {"task.failed", "orchestrator_job_failed"},
    {"task.cancelled", "orchestrator_job_canceled"},
});

std::string_view orchestrator_state(TaskState state) {
  switch (state) {
    case TaskState::kRunning:
    case TaskState::kCompleted:
    case TaskState::kFailed:
      return name_of(state);
    case TaskState::kCancelled:
      return "canceled";
    case TaskState::kPending:
    case TaskState::kScheduled:
    case TaskState::kBlocked:
    case TaskState::kStalled:
      return "queued";
  }
  return "queued";
}

std::string orchestrator_json(const Event& event, std::string_view name) {
  json::Writer out;
  out.begin_object();
  out.key("seq").number(event.seq);
  out.key("at").string(format_time(event.at));
  out.key("type").string(name);
  out.key("payload").begin_object();
  out.key("jobId").string(event.task.to_string());
  out.key("projectId").string(event.owner);
  out.key("jobType").string(event.type);
  out.key("state").string(orchestrator_state(event.state));
  if (name == "orchestrator_job_progress") out.key("progress").raw(event.data);
  if (name == "orchestrator_job_failed") out.key("error").raw(event.data);
  out.end_object();
  out.end_object();
  return std::move(out).take();
}

}  // namespace

void EventsFrame::add_text(const std::string& json) {
  if (!list_.empty()) list_ += ',';
  list_ += json;
}

void EventsFrame::add(const Event& event) {
  if (what_ == FrameOf::kTally) {
    ++tally_[{event.name, event.state}];
    return;
  }
  if (names_ == EventNames::kDrover) return add_text(to_json(event));
  const auto found = std::ranges::find(kOrchestratorNames, event.name, &OtherName::name);
  if (found == kOrchestratorNames.end()) return;
  // What an agent is doing comes from its transcript.
  if (is_terminal(event.state) || event.name == "task.progressed")
    add_text(orchestrator_json(event, "transcript_updated"));
  add_text(orchestrator_json(event, found->other));
}

LiveFrame EventsFrame::finish(std::int64_t seq) && {
  if (what_ == FrameOf::kTally) {
    std::string counts;
    for (const auto& [what, count] : tally_) {
      counts += fmt::format(R"({}{{"name":{},"state":"{}","count":{}}})", counts.empty() ? "" : ",",
                            json::quote(what.first), name_of(what.second), count);
    }
    return {.kind = "tally",
            .body = fmt::format(R"({{"kind":"tally","seq":{},"counts":[{}]}})", seq, counts),
            .resume_at = seq};
  }
  return {.kind = "events",
          .body = fmt::format(R"({{"kind":"events","seq":{},"events":[{}]}})", seq, list_),
          .resume_at = seq};
}

LiveFrame watching_frame(std::int64_t seq) {
  return {.kind = "watching", .body = fmt::format(R"({{"kind":"watching","seq":{}}})", seq), .resume_at = seq};
}

LiveFrame snapshot_frame(std::int64_t seq, std::string_view tasks, bool has_more) {
  return {
      .kind = "snapshot",
      .body = fmt::format(R"({{"kind":"snapshot","seq":{},"tasks":[{}],"more":{}}})", seq, tasks, has_more),
      .resume_at = has_more ? 0 : seq,
  };
}

LiveFrame gap_frame(std::int64_t after, std::int64_t seq) {
  return {.kind = "gap", .body = fmt::format(R"({{"kind":"gap","after":{},"seq":{}}})", after, seq), .resume_at = 0};
}

std::string format_live(LiveTransport transport, const LiveFrame& frame) {
  if (transport == LiveTransport::kWebSocket) return format_frame(WebSocketKind::kText, frame.body);
  const std::string id = frame.resume_at > 0 ? fmt::format("id: {}\n", frame.resume_at) : "";
  return fmt::format("event: {}\n{}data: {}\n\n", frame.kind, id, frame.body);
}

std::string format_goodbye(LiveTransport transport, CloseCode code, std::string_view reason) {
  if (transport == LiveTransport::kWebSocket) return format_close(code, reason);
  json::Writer out;
  out.begin_object();
  out.key("kind").string("bye");
  out.key("code").number(std::to_underlying(code));
  out.key("reason").string(reason);
  out.end_object();
  return fmt::format("event: bye\ndata: {}\n\n", std::move(out).take());
}

}  // namespace drover::server
