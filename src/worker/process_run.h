// One run of a task: the processes that its plan asks for, one after another, each with its shim, its input and output;
// and the run's door, log and timeouts.
//
// Everything here happens on the thread of one event loop; calls to the queue are made on other threads and their
// answers come back to the loop. A run stores its log with one call at a time, and answers its door with one at a time,
// in order. Its phases:
//
//   kRunning ──shim gone──▶ kSweeping ──nothing left──▶ kFlushing ──log stored──▶ kOver
//       ▲                                    │
//       └────────────next step───────────────┘
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "net/call_pool.h"
#include "net/event_loop.h"
#include "worker/agent_process.h"
#include "worker/door.h"
#include "worker/host_name.h"
#include "worker/output.h"
#include "worker/question_lines.h"
#include "worker/run_files.h"
#include "worker/run_plan.h"
#include "worker/runner_profile.h"
#include "worker/runs.h"
#include "worker/secrets.h"
#include "worker/shim_protocol.h"
#include "worker/start_troubles.h"

namespace drover {

struct ProcessRunsOptions {
  std::string worker_id;
  std::string host = host_name();
  std::vector<Serve> serves{};
  Runners runners;
  std::string state_dir;
  std::string shim_program = "/proc/self/exe";
  Millis lease{30'000};
  Millis grace{10'000};  // between TERM and KILL
  std::size_t result_bytes_max = 1 << 20;
  std::int64_t output_file_bytes_max = 1LL << 30;
};

class ProcessRun : public std::enable_shared_from_this<ProcessRun> {
 public:
  // What the runs of one worker share.
  struct Host {
    TaskQueue& queue;
    EventLoop& loop;
    ByteBudget& door_bytes;
    const ProcessRunsOptions& options;
    const std::vector<std::string>& environment;
    StartTroubles& troubles;
    const std::function<void(const std::string& type)>& started;  // a program of that type runs
    CallPool& log_calls;
    CallPool& door_calls;
  };

  ProcessRun(Host host, ClaimedTask claimed, MonoTime expires_at);

  void start(MonoTime now);
  void lease_renewed(MonoTime expires_at);
  void stop(StopReason reason, MonoTime now);
  // Closes the control pipe: the shim kills its tree at once.
  void abandon();

  // Does what is due by now. Returns when to look again.
  [[nodiscard]] MonoTime tick(MonoTime now);
  [[nodiscard]] bool is_over() const { return phase_ == Phase::kOver; }
  [[nodiscard]] RunEnded end() const;
  [[nodiscard]] const Lease& lease() const { return claimed_->lease; }
  [[nodiscard]] const Task& task() const { return claimed_->task; }
  [[nodiscard]] const ShimProcess* shim() const { return shim_.pidfd.is_open() ? &shim_ : nullptr; }

 private:
  enum class Phase : std::uint8_t { kRunning, kSweeping, kFlushing, kOver };
  using Report = std::variant<std::monostate, SpawnFailed, AgentExited, AgentKilled>;

  // A request at the door.
  struct Asked {
    HttpRequest request;
    Door::Reply reply;
    MonoTime until{};    // it waits for an answer to a question until then
    MonoTime look_at{};  // when it is looked at again
    bool is_waiting = false;
  };

  Status try_start();
  Status open_door();
  Status start_step(RunStep step);
  void step_ended(const ProcessEnd& end);
  [[nodiscard]] Next next_after(const ProcessEnd& end);
  void watch_shim();
  void write_input();
  void close_input();
  void read_output(LogStream stream);
  void take_output(LogStream stream, std::string_view bytes);
  void heard(const Heard& heard, MonoTime now);
  void finish_output();
  void read_status();
  void take_report(const ShimReport& report);
  void spawn_failed(int error_number);
  void cannot_run(const std::string& why);
  [[nodiscard]] std::optional<std::string> type_in_trouble() const;
  [[nodiscard]] End end_without_step(Next next);
  void shim_ready();
  void shim_gone();
  void drain_pipes();
  void close_pipes();
  void sweep(MonoTime now);
  void begin_flushing(End end);
  [[nodiscard]] ProcessEnd process_end() const;
  [[nodiscard]] std::optional<StopCause> cause(EndedBy by) const;

  void ask_to_stop(StopCause cause, Millis grace, MonoTime now);
  void end_step(Millis grace, MonoTime now);
  void send(const ShimOrder& order);
  void check_timeouts(MonoTime now);
  void been_silent(MonoTime now);
  void answer(HttpRequest request, Door::Reply reply);
  void answer_next();
  void answered(Asked asked, const LastWill& will, const HttpResponse& response);
  void look_at_questions(MonoTime now);
  void keep_waiting(Asked asked, MonoTime now);
  void end_waiting(const Asked& asked, MonoTime now);
  void heard_of_questions(const LastWill& will, MonoTime now);
  void log_question(const std::string& lines);
  [[nodiscard]] bool can_resume() const;
  void flush_log();
  [[nodiscard]] std::optional<std::string> take_doing();
  [[nodiscard]] RunReport take_report_due();
  [[nodiscard]] MonoTime unhindered_at() const;
  void log_stored(const Status& status, std::vector<LogChunk> chunks);
  void end_if_flushed();
  // A budget is used up: the run is interrupted, and ends as the budget says.
  void obey(const std::optional<BudgetStop>& stop);
  void say_what_stopped_it();
  [[nodiscard]] MonoTime next_tick() const;

  Host host_;
  std::shared_ptr<const ClaimedTask> claimed_;
  const RunnerProfile* profile_ = nullptr;
  std::unique_ptr<RunPlan> plan_;
  std::string program_;        // of the running step, as is the next
  bool is_of_profile_ = true;  // RunStep::is_of_profile
  bool interrupt_first_ = false;
  bool is_settling_ = false;  // it is being ended after its last word
  bool is_overdue_ = false;   // or because its own time is over

  Phase phase_ = Phase::kRunning;
  std::optional<StopCause> stop_cause_;
  Report report_;
  End end_;
  RunReport end_report_;

  MonoTime expires_at_;
  MonoTime started_at_{};
  MonoTime active_at_{};  // latest sign of life
  MonoTime step_until_{Millis::max()};
  MonoTime settle_at_{Millis::max()};     // a step that has said its last word is ended
  MonoTime terminate_at_{Millis::max()};  // an interrupted step is told again, without a choice
  MonoTime shim_overdue_at_{Millis::max()};
  MonoTime sweep_at_{};
  MonoTime sweep_until_{};

  RunFiles files_;
  OutputFile file_;
  ShimProcess shim_;  // its descriptors are closed before the start and after the end
  std::unique_ptr<Door> door_;
  MonoTime door_tick_{Millis::max()};
  std::deque<Asked> asked_;  // at the door; the connections bound how many
  bool is_answering_ = false;
  std::vector<Asked> waits_;               // for answers to questions; no thread is held meanwhile
  int waiting_n_ = 0;                      // those, and one that is being looked at
  std::optional<MonoTime> waiting_since_;  // timeouts stand still while somebody waits
  MonoTime gives_way_at_{Millis::max()};   // an agent that can resume is stopped, and its task suspends
  std::optional<BudgetStop> budget_stop_;
  QuestionLines question_lines_;
  LastWill will_;                // what it said at its door of its end
  bool is_its_own_end_ = false;  // nothing of Drover's stopped it
  std::string input_;
  std::size_t input_written_ = 0;
  LineReader status_lines_;
  Secrets secrets_;
  SecretStream out_bytes_;
  SecretStream err_bytes_;
  LogBuffer log_;
  bool log_in_flight_ = false;
  std::optional<std::string> doing_;  // what it is at, while that is not told
  std::string told_doing_;
  MonoTime doing_due_{};
  bool has_news_ = false;  // what it says of itself has changed, and that is not told
  bool has_told_unhindered_ = false;
  MonoTime news_due_{};
  MonoTime flush_until_{};  // at the end of the run
  MonoTime flush_at_{Millis::max()};

  // After what they watch: they go first.
  EventLoop::Watch shim_watch_;
  EventLoop::Watch status_watch_;
  EventLoop::Watch in_watch_;
  EventLoop::Watch out_watch_;
  EventLoop::Watch err_watch_;
};

}  // namespace drover
