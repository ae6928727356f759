// What is known of one run. A preset's reader tells it what each line means, in these words; the record makes events of
// that, counts, and concludes. All rules that agents share are here, so that a preset is only a translation.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "agents/agent_event.h"
#include "agents/agent_reader.h"
#include "agents/trouble.h"
#include "core/usage.h"

namespace drover::agents {

// What one request to a model, or several, used. Dollars are rounded only when all are summed.
struct Spent {
  std::string model{};
  TokenCounts tokens{};
  std::optional<double> dollars{};
};

class RunRecord {
 public:
  explicit RunRecord(ReaderOptions options) : options_(std::move(options)) {}

  // ---- what the preset's reader tells
  [[nodiscard]] const WallClock& clock() const { return options_.clock; }
  void session(std::string_view id);
  // Words with the same key belong to one answer; other words begin the next. The last answer is the run's result where
  // the agent does not name one.
  void say(std::string_view key, std::string_view words);
  void reason(std::string_view thoughts);
  void call_tool(std::string_view call_id, std::string_view name, const json::Value& input);
  void ask(std::string_view call_id, std::string_view tool, const json::Value& question);
  void tool_answered(std::string_view call_id, std::string_view output, bool failed);
  void deny_tool(std::string_view name);
  // A request to a model. More about the same key never lowers what is known of it. It is a turn.
  void request(std::string_view key, const Spent& spent);
  // Takes the place of all requests since the last time: the agent has added them up.
  void settle_requests(const std::vector<Spent>& spent, std::optional<double> dollars);
  // A total over all runs of the session.
  void session_total(const std::vector<Spent>& spent, std::optional<double> dollars);
  // The same, where this run's own part is known from elsewhere.
  void keep_session_total(const std::vector<Spent>& spent, std::optional<double> dollars);
  void tool_calls_at_least(std::int64_t count);
  void retrying(Trouble why, std::optional<Millis> delay);
  // Worth a line in the transcript, and no more.
  void warn(std::string_view text) { add(AgentEventKind::kError, text); }
  // Something went wrong; if nothing better is said, it is why the run failed.
  void trouble(Trouble what);
  // What the provider said of its limits: why, if the run fails for them.
  void limit_until(Time reset_at);
  // Whether a trouble with this very text was told, and of a class of its own.
  [[nodiscard]] bool is_trouble(std::string_view text) const;
  // A turn ended. The last one counts.
  void succeed(JsonText result);
  void succeed_with_last_answer();
  void fail(Trouble why);
  // It goes on after all.
  void reopen();
  void background_tasks(std::size_t running) { background_ = running; }
  void raw(std::string_view line);

  // ---- what the reader of its streams tells
  void set_now(Time now) { options_.clock.now = now; }
  void line_understood() { ++lines_understood_; }
  // A line of stderr, or one of stdout that no agent's format explains.
  void diagnostic(std::string_view line);
  [[nodiscard]] std::vector<AgentEvent> take_events() { return std::exchange(events_, {}); }

  // ---- what is known
  [[nodiscard]] const std::optional<std::string>& session_id() const { return session_id_; }
  [[nodiscard]] bool is_settled() const { return end_ != End::kNone && !spoke_since_end_ && background_ == 0; }
  [[nodiscard]] bool has_answer() const { return has_answer_; }
  [[nodiscard]] const Usage& usage() const { return usage_; }
  [[nodiscard]] Usage session_totals() const {
    return has_session_totals_ ? session_totals_ : options_.session_totals + usage_;
  }
  [[nodiscard]] const std::optional<Throttle>& throttle() const { return throttle_; }
  [[nodiscard]] std::int64_t throttles() const { return throttles_; }
  [[nodiscard]] const std::vector<std::string>& denied_tools() const { return denied_tools_; }
  [[nodiscard]] std::string_view current_tool() const {
    return open_calls_.empty() ? std::string_view() : open_calls_.back().tool;
  }
  [[nodiscard]] std::int64_t lines_understood() const { return lines_understood_; }
  [[nodiscard]] AgentOutcome conclude(const Preset& preset, const AgentExit& exit) const;

 private:
  enum class End : std::uint8_t { kNone, kGood, kBad };
  struct OpenCall {
    std::string id;
    std::string tool;
  };

  AgentEvent& add(AgentEventKind kind, std::string_view text);
  void add_call(AgentEventKind kind, std::string_view call_id, std::string_view name, const json::Value& input);
  void model_acts();
  void count_usage();
  void find_wait(Trouble& trouble) const;
  void note_throttle(const Trouble& trouble, ErrorClass error_class);
  [[nodiscard]] Usage sum_of(const std::vector<Spent>& spent, std::optional<double> dollars) const;
  [[nodiscard]] Usage sum_of_requests() const;
  void replace_requests(const Usage& settled);
  [[nodiscard]] Trouble why_failed(const Preset& preset, const AgentExit& exit) const;
  [[nodiscard]] Trouble why_ended(const Preset& preset, const AgentExit& exit) const;

  ReaderOptions options_;
  std::vector<AgentEvent> events_;
  std::int64_t lines_understood_ = 0;
  std::optional<std::string> session_id_;

  End end_ = End::kNone;
  bool spoke_since_end_ = false;
  JsonText result_;
  std::optional<Trouble> failure_;  // with kBad
  std::optional<Trouble> last_trouble_;
  std::optional<Time> limit_until_;
  std::size_t background_ = 0;

  std::string answer_key_;
  std::string answer_;
  bool answer_is_open_ = false;
  bool answer_is_cut_ = false;
  bool has_answer_ = false;
  bool in_turn_ = false;
  std::vector<OpenCall> open_calls_;
  std::vector<std::string> denied_tools_;

  Usage usage_;    // of this run so far: the sum of the following
  Usage settled_;  // what the agent has added up
  Usage session_totals_;
  bool has_session_totals_ = false;                     // said by the agent
  std::map<std::string, Spent, std::less<>> requests_;  // since the agent last added up
  std::map<std::string, Spent, std::less<>> folded_;    // those of them that are old, by model
  std::deque<std::string> request_order_;
  std::int64_t turns_seen_ = 0;       // by who spoke when
  std::int64_t turns_requested_ = 0;  // by requests
  std::int64_t tool_calls_ = 0;

  std::optional<Throttle> throttle_;
  std::int64_t throttles_ = 0;
  std::string diagnosis_;  // the first line that speaks of an error, else the last one
  bool diagnosis_is_error_ = false;
  std::string diagnostics_;  // their start: where a lost session is looked for
};

}  // namespace drover::agents
