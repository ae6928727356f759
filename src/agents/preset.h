// A preset knows one agent's command line: how it is called and what its output means. Each is one file and one row of
// the table: two pure functions and a few facts.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "drover/error.h"
#include "drover/task.h"

namespace drover::agents {

struct OwnTurn;
class RunRecord;

struct ExitMeaning {
  int code;
  ErrorClass error_class;
};

// What the agent may do without asking.
enum class Permissions : std::uint8_t {
  kBypass,    // everything
  kEdits,     // read, and write in its folder
  kReadOnly,  // read and plan
};
inline constexpr int kPermissionsCount = 3;
[[nodiscard]] std::string_view name_of(Permissions permissions);  // "bypass", "edits", "read_only"
[[nodiscard]] std::optional<Permissions> parse_permissions(std::string_view name);

// What one run is told. The prompt is not here: it goes to stdin. Only model, the session ids, agent and title may come
// from a task; call_argv() refuses values that could be taken for options.
struct AgentCall {
  std::string program{};  // where it is found; empty: the preset's own name for it, found in PATH
  std::string folder{};   // the working folder, absolute
  std::optional<std::string> model{};
  std::optional<std::string> new_session{};     // a UUID to begin with, for presets that take one
  std::optional<std::string> resume_session{};  // wins over new_session
  std::optional<std::string> agent{};           // an agent that the tool keeps (letta)
  std::string title{};                          // what the session is about, in a few words
  Permissions permissions = Permissions::kBypass;
  std::string system_prompt_file{};  // empty: none
  std::string mcp_config_file{};     // empty: none
  std::optional<int> max_turns{};    // where the tool has no such limit the caller counts the reader's turns
  std::vector<std::string> args{};   // the profile's own, put among the options; never from a task
};

// A command line in the making.
struct Arguments {
  std::vector<std::string> values;

  explicit Arguments(std::string program) : values{std::move(program)} {}
  template <class... Word>
  Arguments& add(const Word&... words) {
    (values.emplace_back(words), ...);
    return *this;
  }
  Arguments& add_if_set(std::string_view option, const std::optional<std::string>& value) {
    return value ? add(option, *value) : *this;
  }
  Arguments& add_file(std::string_view option, const std::string& file) {
    return file.empty() ? *this : add(option, file);
  }
  Arguments& add_all(const std::vector<std::string>& words) {
    values.insert(values.end(), words.begin(), words.end());
    return *this;
  }
};

// Where the agent itself keeps a session: FOLDER/within/…/…ID.jsonl.
struct OwnFile {
  std::string_view variable;  // of the environment, which names the folder
  std::string_view home;      // the folder in the home folder, if that is not set
  std::string_view within;
  int depth = 0;  // how many folders are between
  // One line of it that is JSON. Null: the agent keeps none that tells more than its output.
  void (*read_line)(const json::Value& line, OwnTurn& turn) = nullptr;
};

struct Preset {
  std::string_view name;      // "claude"
  std::string_view program;   // of the executable in PATH
  std::string_view provider;  // whose models it calls by default: "anthropic"

  // Takes a session id of ours for a new session; the others choose one and say it.
  bool takes_session_id = false;
  // Resumes a session in another folder than the one that it began in.
  bool resumes_anywhere = false;
  // It tells what it used only at its end, or may where its own file cannot be read: a budget stops it a run late.
  bool tells_usage_late = false;
  bool takes_system_prompt_file = false;
  bool takes_mcp_config_file = false;
  // Signals that ask it to stop, in order, before SIGKILL.
  std::span<const int> stop_signals;
  // Variables that every run gets, "NAME=VALUE".
  std::span<const std::string_view> environment;
  // One of these variables, or one of these files in the home folder, lets it log in.
  std::span<const std::string_view> login_variables;
  std::span<const std::string_view> login_files;

  // What it says, somewhere, of a session that it cannot resume (RE2).
  const char* lost_session;
  // Exit codes that mean something where its output does not say more.
  std::span<const ExitMeaning> exits;

  // What follows the program. The call has been checked.
  void (*add_arguments)(const AgentCall& call, Arguments& arguments);
  // One line of stdout that is a JSON object.
  void (*read_line)(const json::Value& line, RunRecord& run);
  // One line of stderr. Null: they say nothing but why it failed.
  void (*read_error_line)(std::string_view line, RunRecord& run) = nullptr;
  OwnFile own_file{};
};

// All of them, in the order in which people are shown them.
[[nodiscard]] std::span<const Preset> presets();
[[nodiscard]] const Preset* find_preset(std::string_view name);
// The same, or kInvalidArgument that lists those that there are.
[[nodiscard]] Result<const Preset*> preset_named(std::string_view name);

// The command line of one run. kInvalidArgument for a value that begins with '-', is empty, too long or has control
// characters, and for a file that the preset has no option for.
[[nodiscard]] Result<std::vector<std::string>> call_argv(const Preset& preset, const AgentCall& call);

}  // namespace drover::agents
