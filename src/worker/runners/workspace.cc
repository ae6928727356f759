#include "worker/runners/workspace.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <utility>

#include "base/json.h"
#include "worker/runners/workspace_step.h"
#include "workspace/lock.h"

namespace drover {
namespace {

// How much a result grows by what is told about the branch.
constexpr std::size_t kBranchBytesMax = 512;
// Somebody may remove a workspace just when it has been prepared, but not again and again.
constexpr int kPreparesMax = 3;

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
        root_(workspace_root(setting.profile.workspace, setting.state_dir, setting.store_id)),
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
    if (choice_.error().code == ErrorCode::kNotFound) return NotHere{choice_.error().message};
    return Failure{.error_class = ErrorClass::kInvalid, .message = choice_.error().message};
  }

  Heard take(LogStream stream, std::string_view bytes) override {
    if (phase_ == Phase::kInner) return inner_->take(stream, bytes);
    if (phase_ != Phase::kSetup) return step_.take(stream, bytes);
    if (stream == LogStream::kErr) last_words_.feed(bytes);
    tail_.feed(bytes);
    return {.log = {{stream, std::string(bytes)}}, .is_sign_of_life = true};
  }

  bool has_settled() const override { return phase_ == Phase::kInner && inner_->has_settled(); }

  Heard look_elsewhere() override { return phase_ == Phase::kInner ? inner_->look_elsewhere() : Heard{}; }

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
    return CannotRun{"unknown step of a workspace"};
  }

 private:
  enum class Phase : std::uint8_t { kPrepare, kSetup, kMarkSetUp, kInner, kFinish };

  [[nodiscard]] const Task& task() const { return setting_.claimed.task; }

  // ---- steps of Drover's own

  RunStep own_step(Phase phase, const std::string& name, std::string request) {
    phase_ = phase;
    return step_.begin(setting_, name, std::move(request));
  }

  [[nodiscard]] std::string request_of_step() const {
    json::Writer out;
    out.begin_object().key("root").string(root_).key("task_id").string(task().id.to_string()).end_object();
    return std::move(out).take();
  }

  // A step that did not succeed before the agent has begun.
  Next stopped_before_agent(const ProcessEnd& end, const std::string& why) {
    if (end.stopped) return stopped_outcome(*end.stopped, {.how = NotStarted{}, .stopped = end.stopped}, task());
    if (std::holds_alternative<NotStarted>(end.how)) return Release{Begun::kNo};
    if (WorkspaceStep::blames_task(end)) return Failure{.error_class = ErrorClass::kInvalid, .message = why};
    // Others of its type name other repositories, and must not wait for this one.
    if (task().repo && step_.error_code() == error_info(ErrorCode::kInvalidConfig).name) return NotHere{why};
    return CannotRun{why};
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
    auto prepared = step_.answer<workspace::Prepared>(end);
    if (!prepared) return stopped_before_agent(end, prepared.error().message);
    prepared_ = *std::move(prepared);
    real_root_ = std::filesystem::path(prepared_.path).parent_path().parent_path().string();
    auto lock = workspace::Lock::try_use(real_root_, task().id);
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
        .note = tail_.text()};
  }

  Next after_mark(const ProcessEnd& end) {
    const auto marked = step_.answer<workspace::Marked>(end);
    return marked ? start_inner() : stopped_before_agent(end, marked.error().message);
  }

  // ---- the other plan

  Next start_inner() {
    phase_ = Phase::kInner;
    const std::size_t room = has_repository(choice_->kind) ? kBranchBytesMax : 0;
    inner_ = make_inner_(
        {.claimed = setting_.claimed,
         .profile = profile_,
         .files = setting_.files,
         .worker_environment = setting_.worker_environment,
         .worker_id = setting_.worker_id,
         .host = setting_.host,
         .result_bytes_max = setting_.result_bytes_max - std::min(room, setting_.result_bytes_max),
         .folder = prepared_.path,
         .workspace =
             WorkspaceUse{.root = root_, .has_repository = has_repository(choice_->kind), .is_new = !prepared_.begun},
         .repos = setting_.repos,
         .shim_program = setting_.shim_program,
         .state_dir = setting_.state_dir});
    auto first = inner_->begin();
    if (!first) return CannotRun{first.error().message};
    if (const Status marked = workspace::mark_begun(real_root_, task().id); !marked)
      return CannotRun{marked.error().message};
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
    const auto finished = step_.answer<workspace::Finished>(end);
    if (finished) return with_branch(*finished);
    return Failure{.error_class = WorkspaceStep::blames_task(end) ? ErrorClass::kAgentError : ErrorClass::kSpawnFailed,
                   .message = "could not save the branch of the workspace: " + finished.error().message};
  }

  End with_branch(const workspace::Finished& finished) {
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
  WorkspaceStep step_;
  LastLine last_words_;  // of the setup command, as is the next
  Tail tail_;
  int prepares_ = 0;
  workspace::Prepared prepared_;
  std::string real_root_;
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
