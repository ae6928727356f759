#include "workspace/step.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>

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
  const auto known = kind_from_name(kind);
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
  out.end_object();
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

StepAnswer run_step(std::string_view name, const std::string& text) {
  const auto request = read_request(text);
  if (!request) return refusal(request.error());
  if (name == "prepare") return answer(prepare(*request));
  if (name == "finish") return answer(finish(request->root, request->task));
  if (name == "save") return answer(save(request->root, request->task));
  if (name == "remove") return answer(remove(request->root, request->task));
  if (name == "set-up") {
    const Status marked = mark_set_up(request->root, request->task);
    return marked ? StepAnswer{0, "{}"} : refusal(marked.error());
  }
  return {kExitUsage, R"({"code":"invalid_argument","message":"the step is prepare, set-up, finish, save or remove"})"};
}

int step_main(int argc, char** argv) {
  if (argc != 3) {
    fmt::print(stderr, "usage: drover workspace-step prepare|set-up|finish|save|remove\n");
    return kExitUsage;
  }
  std::signal(SIGPIPE, SIG_IGN);
  const auto request = read_stdin();
  const StepAnswer done = request ? run_step(argv[2], *request) : refusal(request.error());
  fmt::print("{}\n", done.json);
  return std::fflush(stdout) == 0 ? done.exit_code : kExitTrouble;
}

}  // namespace drover::workspace
