#include "workspace/step.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <map>
#include <optional>
#include <vector>

#include "base/clock.h"
#include "base/json.h"
#include "base/json_reader.h"
#include "workspace/workspace.h"

namespace drover::workspace {
namespace {

constexpr int kExitTrouble = 1;
constexpr int kExitUsage = 2;
constexpr int kExitRefused = 65;  // EX_DATAERR
constexpr std::size_t kRequestBytesMax = 1 << 20;

// A request that is not as it should be is a bug of the caller, not of the task.
Result<PrepareRequest> read_request(const std::string& text) {
  PrepareRequest request;
  std::string kind = "none";
  json::Reader in(text);
  in.need("root", request.root).need("task_id", request.task);
  in.get("kind", kind).get("repo", request.repo).get("base", request.base);
  if (const Status read = in.finish_strictly(); !read) return fail(ErrorCode::kInvalidJson, read.error().message);
  const auto known = parse_workspace_kind(kind);
  if (!known) return fail(ErrorCode::kInvalidJson, "kind is none, directory, clone or worktree");
  request.kind = *known;
  return request;
}

std::string to_json(const Prepared& prepared) {
  json::Writer out;
  out.begin_object();
  out.key("path").string(prepared.path);
  out.key("branch").string(prepared.branch);
  out.key("base_commit").string(prepared.base_commit);
  out.key("reused").boolean(prepared.reused);
  out.key("set_up").boolean(prepared.set_up);
  out.key("begun").boolean(prepared.begun);
  out.end_object();
  return std::move(out).take();
}

std::string to_json(const Inspected& inspected) {
  json::Writer out;
  out.begin_object().key("commit").string(inspected.commit).key("changed").begin_array();
  for (const std::string& file : inspected.changed) out.string(file);
  out.end_array().end_object();
  return std::move(out).take();
}

std::string to_json(const Finished& finished) {
  json::Writer out;
  out.begin_object();
  out.key("branch").string(finished.branch);
  out.key("head").string(finished.head);
  out.key("commits").number(finished.commits);
  out.key("files").number(finished.files);
  out.key("insertions").number(finished.insertions);
  out.key("deletions").number(finished.deletions);
  out.key("uncommitted_files").number(finished.uncommitted_files);
  out.end_object();
  return std::move(out).take();
}

std::string to_json(const Saved& saved) {
  json::Writer out;
  out.begin_object();
  out.key("saved").boolean(saved.saved);
  if (!saved.why.empty()) out.key("why").string(saved.why);
  out.key("commit").string(saved.commit);
  out.end_object();
  return std::move(out).take();
}

std::string to_json(const Reaped& reaped) {
  json::Writer out;
  out.begin_object().key("removed").begin_array();
  for (const TaskId& task : reaped.removed) out.string(task.to_string());
  out.end_array().key("kept").begin_array();
  for (const Reaped::Kept& kept : reaped.kept) {
    out.begin_object().key("task_id").string(kept.task.to_string()).key("why").string(kept.why).end_object();
  }
  out.end_array().key("bytes").number(reaped.bytes).end_object();
  return std::move(out).take();
}

struct InspectRequest {
  std::string root;
  TaskId task;
  std::vector<std::string> argv;
};

Result<InspectRequest> read_inspect_request(const std::string& text) {
  InspectRequest request;
  json::Reader in(text);
  in.need("root", request.root).need("task_id", request.task).need("argv", request.argv);
  if (const Status read = in.finish_strictly(); !read) return fail(ErrorCode::kInvalidJson, read.error().message);
  return request;
}

struct ReapRequest {
  std::string root;
  KeepPolicy keep;
  std::map<TaskId, Fate> fates;
};

Result<ReapRequest> read_reap_request(const std::string& text) {
  ReapRequest request;
  std::vector<TaskId> unfinished;
  std::vector<TaskId> completed;
  std::vector<TaskId> failed;
  json::Reader in(text);
  in.need("root", request.root).need("completed_ms", request.keep.completed).need("failed_ms", request.keep.failed);
  in.need("bytes_max", request.keep.bytes_max);
  in.need("unfinished", unfinished).need("completed", completed).need("failed", failed);
  if (const Status read = in.finish_strictly(); !read) return fail(ErrorCode::kInvalidJson, read.error().message);
  for (const TaskId& task : unfinished) request.fates[task] = Fate::kUnfinished;
  for (const TaskId& task : completed) request.fates[task] = Fate::kCompleted;
  for (const TaskId& task : failed) request.fates[task] = Fate::kFailed;
  return request;
}

Result<Reaped> reap_by(const ReapRequest& request) {
  return reap(request.root, request.keep, system_clock().wall(), [&](const TaskId& task) {
    const auto found = request.fates.find(task);
    return found != request.fates.end() ? std::optional(found->second) : std::nullopt;
  });
}

StepAnswer refusal(const Error& error) {
  json::Writer out;
  out.begin_object();
  out.key("code").string(error_info(error.code).name);
  out.key("message").string(error.message);
  out.end_object();
  return {is_fault_of_task(error.code) ? kExitRefused : kExitTrouble, std::move(out).take()};
}

template <class T>
StepAnswer answer(const Result<T>& result) {
  if (!result) return refusal(result.error());
  return {0, to_json(*result)};
}

Result<std::string> read_stdin() {
  std::string text;
  std::array<char, 65536> buffer;
  while (text.size() <= kRequestBytesMax) {
    const ssize_t count = ::read(STDIN_FILENO, buffer.data(), buffer.size());
    if (count == 0) return text;
    if (count < 0 && errno != EINTR) return fail(ErrorCode::kInvalidJson, "the request cannot be read from stdin");
    if (count > 0) text.append(buffer.data(), static_cast<std::size_t>(count));
  }
  return fail(ErrorCode::kInvalidJson, fmt::format("the request is larger than {} bytes", kRequestBytesMax));
}

}  // namespace

Status read_json(std::string_view json, Prepared& out) {
  json::Reader in(json);
  in.need("path", out.path).need("branch", out.branch).need("base_commit", out.base_commit);
  in.need("reused", out.reused).need("set_up", out.set_up).need("begun", out.begun);
  return in.finish();
}

Status read_json(std::string_view json, Marked& /*out*/) {
  return json::Reader(json).finish();
}

Status read_json(std::string_view json, Inspected& out) {
  json::Reader in(json);
  in.need("commit", out.commit).need("changed", out.changed);
  return in.finish();
}

Status read_json(std::string_view json, Finished& out) {
  json::Reader in(json);
  in.need("branch", out.branch).need("head", out.head).need("commits", out.commits).need("files", out.files);
  in.need("insertions", out.insertions).need("deletions", out.deletions);
  in.need("uncommitted_files", out.uncommitted_files);
  return in.finish();
}

Status read_json(std::string_view json, Reaped::Kept& out) {
  json::Reader in(json);
  in.need("task_id", out.task).need("why", out.why);
  return in.finish();
}

Status read_json(std::string_view json, Reaped& out) {
  json::Reader in(json);
  in.need("removed", out.removed).need("kept", out.kept).need("bytes", out.bytes);
  return in.finish();
}

Status read_json(std::string_view json, StepError& out) {
  json::Reader in(json);
  in.need("code", out.code).need("message", out.message);
  return in.finish();
}

StepAnswer run_step(std::string_view name, const std::string& text) {
  if (name == "reap") {
    const auto request = read_reap_request(text);
    return request ? answer(reap_by(*request)) : refusal(request.error());
  }
  if (name == "inspect") {
    const auto request = read_inspect_request(text);
    return request ? answer(inspect(request->root, request->task, request->argv)) : refusal(request.error());
  }
  const auto request = read_request(text);
  if (!request) return refusal(request.error());
  if (name == "prepare") return answer(prepare(*request));
  if (name == "finish") return answer(finish(request->root, request->task));
  if (name == "remove") return answer(remove(request->root, request->task));
  if (name == "set-up") {
    const Status marked = mark_set_up(request->root, request->task);
    return marked ? StepAnswer{0, "{}"} : refusal(marked.error());
  }
  return {kExitUsage,
          R"({"code":"invalid_argument","message":"the step is prepare, set-up, inspect, finish, remove or reap"})"};
}

int step_main(int argc, char** argv) {
  if (argc != 3) {
    fmt::print(stderr, "usage: drover workspace-step prepare|set-up|inspect|finish|remove|reap\n");
    return kExitUsage;
  }
  std::signal(SIGPIPE, SIG_IGN);
  const auto request = read_stdin();
  const StepAnswer done = request ? run_step(argv[2], *request) : refusal(request.error());
  fmt::print("{}\n", done.json);
  return std::fflush(stdout) == 0 ? done.exit_code : kExitTrouble;
}

}  // namespace drover::workspace
