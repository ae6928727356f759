#include "worker/runners/workspace.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <utility>

#include "base/json.h"
#include "base/json_reader.h"
#include "base/text.h"
#include "worker/runners/exec.h"
#include "workspace/lock.h"

namespace drover {
namespace {

// What is kept of the setup command's output, for people and for the next run to read.
constexpr std::size_t kSetupTailBytes = 4 * 1024;
constexpr std::size_t kAnswerBytesMax = 64 * 1024;
// How much a result grows by what is told about the branch.
constexpr std::size_t kBranchBytesMax = 512;
// Somebody may remove a workspace just when it has been prepared, but not again and again.
constexpr int kPreparesMax = 3;

struct PreparedAnswer {
  std::string path;
  std::string branch;
  std::string base_commit;
  bool set_up = false;
};

struct StepError {
  std::string code;
  std::string message;
};

struct FinishedAnswer {
  std::string head;
  std::int64_t commits = 0;
  std::int64_t files = 0;
  std::int64_t insertions = 0;
  std::int64_t deletions = 0;
};

std::string last_line_of(std::string_view text) {
  while (text.ends_with('\n')) text.remove_suffix(1);
  const std::size_t newline = text.rfind('\n');
  return std::string(newline == std::string_view::npos ? text : text.substr(newline + 1));
}

bool is_real_folder(const std::string& path) {
  std::error_code error;
  return std::filesystem::symlink_status(path, error).type() == std::filesystem::file_type::directory;
}

class WorkspacePlan final : public RunPlan {
 public:
  WorkspacePlan(const RunSetting& setting, Result<WorkspaceChoice> choice, MakePlan make_inner)
      : setting_(setting),
        choice_(std::move(choice)),
        make_inner_(std::move(make_inner)),
        root_(workspace_root(setting.profile.workspace, setting.state_dir)),
        profile_(setting.profile) {
    // The program is the worker's: what a repository has by that name does not count.
    std::string& program = profile_.argv.front();
    std::error_code error;
    if (program.contains('/')) program = std::filesystem::absolute(program, error).string();
  }
  ~WorkspacePlan() override {
    if (lock_) lock_->touch();  // the end of the run: from here its age counts
  }
  WorkspacePlan(const WorkspacePlan&) = delete;
  WorkspacePlan& operator=(const WorkspacePlan&) = delete;

  Result<Next> begin() override {
    if (choice_) return prepare();
    return Failure{.error_class = ErrorClass::kInvalid, .message = choice_.error().message};
  }

  Heard take(LogStream stream, std::string_view bytes) override {
    if (phase_ == Phase::kInner) return inner_->take(stream, bytes);
    if (stream == LogStream::kErr) last_words_.feed(bytes);
    if (phase_ == Phase::kSetup) {
      tail_.append(bytes);
      if (tail_.size() > 2 * kSetupTailBytes) tail_.erase(0, tail_.size() - kSetupTailBytes);
    } else if (stream == LogStream::kOut) {
      answer_.append(bytes.substr(0, kAnswerBytesMax - answer_.size()));
      return {};
    }
    return {.log = {{stream, std::string(bytes)}}, .is_sign_of_life = true};
  }

  bool has_settled() const override { return phase_ == Phase::kInner && inner_->has_settled(); }

  Heard finish() override { return phase_ == Phase::kInner ? inner_->finish() : Heard{}; }

  RunReport report() const override { return inner_ ? inner_->report() : RunReport{}; }

  Next after(const ProcessEnd& end) override {
    switch (phase_) {
      case Phase::kPrepare:
        return after_prepare(end);
      case Phase::kSetup:
        return after_setup(end);
      case Phase::kMarkSetUp:
        return after_mark(end);
      case Phase::kInner:
        return in_workspace(inner_->after(end));
      case Phase::kFinish:
        return after_finish(end);
    }
    return CannotRun{"a step of the workspace that there is not"};
  }

 private:
  enum class Phase : std::uint8_t { kPrepare, kSetup, kMarkSetUp, kInner, kFinish };

  [[nodiscard]] const Task& task() const { return setting_.claimed.task; }

  // ---- steps of Drover's own

  RunStep own_step(Phase phase, const std::string& name, const std::string& request) {
    phase_ = phase;
    answer_.clear();
    last_words_ = {};
    std::vector<std::string> environment{worker_mark(setting_.worker_id)};
    if (const auto path = path_in(setting_.worker_environment); !path.empty())
      environment.push_back(fmt::format("PATH={}", path));
    return {.argv = {setting_.shim_program, "workspace-step", name},
            .environment = std::move(environment),
            .input = request,
            .is_of_profile = false};
  }

  [[nodiscard]] std::string request_of_step() const {
    json::Writer out;
    out.begin_object().key("root").string(root_).key("task_id").string(task().id.to_string()).end_object();
    return std::move(out).take();
  }

  // What a step that did not succeed says; empty if it says nothing.
  [[nodiscard]] StepError error_of_step() const {
    const std::string answer = last_line_of(answer_);
    StepError error;
    json::Reader in(answer);
    in.need("code", error.code).need("message", error.message);
    return in.finish() ? error : StepError{};
  }

  // Why the step did not succeed, in its own words if it has any.
  [[nodiscard]] std::string complaint_of_step(const ProcessEnd& end) const {
    if (const StepError error = error_of_step(); !error.message.empty()) return error.message;
    const auto code = exit_code_of(end);
    return with_last_words(code ? fmt::format("a step of the workspace ended with exit code {}", *code)
                                : "a step of the workspace was killed",
                           last_words_.text());
  }

  // A step that did not succeed before the agent has begun.
  Next stopped_before_agent(const ProcessEnd& end) {
    if (end.stopped) return stopped_outcome(*end.stopped, {.how = NotStarted{}, .stopped = end.stopped}, task());
    if (std::holds_alternative<NotStarted>(end.how)) return Release{Begun::kNo};
    if (exit_code_of(end) == kExitInvalid)
      return Failure{.error_class = ErrorClass::kInvalid, .message = complaint_of_step(end)};
    // Others of its type name other repositories, and must not wait for this one.
    if (task().repo && error_of_step().code == error_info(ErrorCode::kInvalidConfig).name)
      return Failure{.error_class = ErrorClass::kSpawnFailed, .message = complaint_of_step(end)};
    return CannotRun{complaint_of_step(end)};
  }

  // ---- prepare

  RunStep prepare() {
    ++prepares_;
    json::Writer out;
    out.begin_object().key("root").string(root_).key("task_id").string(task().id.to_string());
    out.key("kind").string(name_of(choice_->kind));
    if (has_repository(choice_->kind)) out.key("repo").string(choice_->repo_path).key("base").string(choice_->base);
    out.end_object();
    return own_step(Phase::kPrepare, "prepare", std::move(out).take());
  }

  Next after_prepare(const ProcessEnd& end) {
    if (exit_code_of(end) != 0) return stopped_before_agent(end);
    const std::string answer = last_line_of(answer_);
    json::Reader in(answer);
    in.need("path", prepared_.path).need("branch", prepared_.branch).need("base_commit", prepared_.base_commit);
    in.need("set_up", prepared_.set_up);
    if (const Status read = in.finish(); !read) return CannotRun{read.error().message};
    const std::string root = std::filesystem::path(prepared_.path).parent_path().parent_path().string();
    auto lock = workspace::Lock::try_use(root, task().id);
    if (!lock) return CannotRun{lock.error().message};
    lock_ = *std::move(lock);
    if (!lock_ || !is_real_folder(prepared_.path)) {
      lock_.reset();
      if (prepares_ < kPreparesMax) return prepare();
      return CannotRun{fmt::format(
          "the workspace {} disappeared each time after it was prepared; find out what deletes it", prepared_.path)};
    }
    return prepared_.set_up || profile_.workspace.setup.empty() ? start_inner() : set_up();
  }

  // ---- setup

  // What it runs is the repository's: it gets none of the secrets.
  Next set_up() {
    phase_ = Phase::kSetup;
    last_words_ = {};
    RunnerProfile without_secrets = profile_;
    without_secrets.env.clear();
    return RunStep{.argv = profile_.workspace.setup,
                   .environment = agent_environment(setting_.worker_environment, without_secrets, task(),
                                                    setting_.files.door_path(), setting_.worker_id),
                   .folder = prepared_.path,
                   .is_of_profile = false};
  }

  Next after_setup(const ProcessEnd& end) {
    const std::string& program = profile_.workspace.setup.front();
    if (std::holds_alternative<NotStarted>(end.how) && !end.stopped)
      return Failure{.error_class = ErrorClass::kSpawnFailed,
                     .message = fmt::format("cannot run {}, which sets the workspace up", program)};
    if (auto interrupted = outcome_of_interruption(end, task(), last_words_.text())) return *std::move(interrupted);
    const int code = exit_code_of(end).value_or(0);
    if (code == 0) return own_step(Phase::kMarkSetUp, "set-up", request_of_step());
    return Failure{
        .error_class = ErrorClass::kAgentError,
        .message = with_last_words(
            fmt::format("{}, which sets the workspace up, ended with exit code {}", program, code), last_words_.text()),
        .exit_code = code,
        .note = to_utf8(std::string_view(tail_).substr(tail_.size() - std::min(tail_.size(), kSetupTailBytes)))};
  }

  Next after_mark(const ProcessEnd& end) { return exit_code_of(end) == 0 ? start_inner() : stopped_before_agent(end); }

  // ---- the other plan

  Next start_inner() {
    phase_ = Phase::kInner;
    const std::size_t room = has_repository(choice_->kind) ? kBranchBytesMax : 0;
    inner_ = make_inner_({.claimed = setting_.claimed,
                          .profile = profile_,
                          .files = setting_.files,
                          .worker_environment = setting_.worker_environment,
                          .worker_id = setting_.worker_id,
                          .host = setting_.host,
                          .result_bytes_max = setting_.result_bytes_max - std::min(room, setting_.result_bytes_max),
                          .folder = prepared_.path,
                          .repos = setting_.repos,
                          .shim_program = setting_.shim_program,
                          .state_dir = setting_.state_dir});
    auto first = inner_->begin();
    if (!first) return CannotRun{first.error().message};
    return in_workspace(*std::move(first));
  }

  // Its next step runs in the workspace; its completion is followed by a step of ours.
  Next in_workspace(Next next) {
    if (auto* step = std::get_if<RunStep>(&next)) {
      if (!is_real_folder(prepared_.path))
        return Failure{.error_class = ErrorClass::kAgentError, .message = "the run deleted its workspace"};
      step->folder = prepared_.path;
      if (!step->argv.front().starts_with('/') && step->argv.front().contains('/')) step->is_of_profile = false;
      return next;
    }
    auto* end = std::get_if<End>(&next);
    auto* completion = end != nullptr ? std::get_if<Completion>(end) : nullptr;
    if (completion == nullptr || !has_repository(choice_->kind)) return next;
    completion_ = std::move(*completion);
    return own_step(Phase::kFinish, "finish", request_of_step());
  }

  // ---- finish

  Next after_finish(const ProcessEnd& end) {
    if (end.stopped) return stopped_outcome(*end.stopped, end, task());
    const std::string answer = last_line_of(answer_);
    FinishedAnswer finished;
    json::Reader in(answer);
    in.need("head", finished.head).need("commits", finished.commits).need("files", finished.files);
    in.need("insertions", finished.insertions).need("deletions", finished.deletions);
    if (exit_code_of(end) == 0 && in.finish()) return with_branch(finished);
    const bool is_agents_fault = exit_code_of(end) == kExitInvalid;
    return Failure{.error_class = is_agents_fault ? ErrorClass::kAgentError : ErrorClass::kSpawnFailed,
                   .message = "the branch of the workspace was not taken: " + complaint_of_step(end)};
  }

  End with_branch(const FinishedAnswer& finished) {
    json::Writer out;
    out.begin_object().key("answer").raw(completion_.result.value_or("null"));
    out.key("branch").string(prepared_.branch).key("base").string(prepared_.base_commit);
    out.key("commit").string(finished.head).key("commits").number(finished.commits);
    out.key("files").number(finished.files).key("insertions").number(finished.insertions);
    out.key("deletions").number(finished.deletions).end_object();
    completion_.result = std::move(out).take();
    if (completion_.result->size() <= setting_.result_bytes_max) return std::move(completion_);
    return Failure{.error_class = ErrorClass::kResultTooLarge,
                   .message = fmt::format("the result has {} bytes; at most {} are kept", completion_.result->size(),
                                          setting_.result_bytes_max),
                   .exit_code = completion_.exit_code};
  }

  const RunSetting setting_;
  const Result<WorkspaceChoice> choice_;
  const MakePlan make_inner_;
  const std::string root_;
  RunnerProfile profile_;
  Phase phase_ = Phase::kPrepare;
  std::string answer_;
  LastLine last_words_;
  std::string tail_;
  int prepares_ = 0;
  PreparedAnswer prepared_;
  std::optional<workspace::Lock> lock_;
  std::unique_ptr<RunPlan> inner_;
  Completion completion_;
};

}  // namespace

std::unique_ptr<RunPlan> make_workspace_plan(const RunSetting& setting, Result<WorkspaceChoice> choice,
                                             MakePlan make_inner) {
  return std::make_unique<WorkspacePlan>(setting, std::move(choice), std::move(make_inner));
}

}  // namespace drover
