// A store of one test's own, with the real program on it.
#pragma once

#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "e2e/process.h"
#include "support/temp_dir.h"

namespace drover::e2e {

// Beyond every bound that a test states itself: whatever takes longer hangs.
inline constexpr Millis kHangs{30'000};

using Arguments = std::vector<std::string>;

// What follows a store's events as they happen.
class EventStream {
 public:
  explicit EventStream(std::unique_ptr<Process> follower) : follower_(std::move(follower)) {}

  // Reads on until an event of that name for that task; nothing if it did not come within the bound.
  [[nodiscard]] std::optional<json::Value> next(std::string_view name, std::string_view task, Millis bound = kHangs);

 private:
  std::unique_ptr<Process> follower_;
};

class Sandbox {
 public:
  Sandbox();

  // Of the output of one run, by the store.
  [[nodiscard]] static std::size_t log_bytes_kept();
  [[nodiscard]] const std::filesystem::path& folder() const { return dir_.path(); }
  [[nodiscard]] std::string file(std::string_view name) const { return dir_.file(name); }
  [[nodiscard]] std::string store_path() const { return dir_.file("store/drover.db"); }
  // Of the store itself, also where everybody asks a server.
  [[nodiscard]] const std::string& store_url() const { return store_url_; }
  [[nodiscard]] bool is_served() const { return !server_url_.empty(); }
  // The number of the last event that there was before the test: a server's token has one.
  [[nodiscard]] std::string events_before() const { return is_served() ? "1" : "0"; }
  // Kills the server, if there is one, and starts another at its address.
  void kill_server();
  // Replaces a variable in the environment of everything that is started from now on; an empty value takes it away.
  void set(const std::string& name, const std::string& value);
  // "NAME=VALUE" of everything that is started, for what is started otherwise.
  [[nodiscard]] std::vector<std::string> environment() const;
  void write_file(std::string_view name, std::string_view text) const;

  // Runs `drover ARGUMENTS` to its end.
  [[nodiscard]] Outcome drover(const Arguments& arguments, std::string input = {}, Millis bound = kHangs) const;
  // Starts it and lets it run.
  [[nodiscard]] std::unique_ptr<Process> start(const Arguments& arguments, std::string input = {}) const;
  [[nodiscard]] EventStream events() const;

  // Short forms that throw when the command fails, and so end the test.
  std::string must(const Arguments& arguments, const std::string& input = {}) const;
  [[nodiscard]] json::Value must_json(const Arguments& arguments, const std::string& input = {}) const;
  std::string enqueue(Arguments arguments) const;  // the id
  [[nodiscard]] json::Value show(const std::string& id) const;
  [[nodiscard]] std::string state_of(const std::string& id) const;
  // Everything that a change would show in: tasks, events and policy.
  [[nodiscard]] std::string dump() const;

  // Processes of that task's runs: its agent, what that started, and the shim.
  [[nodiscard]] static std::vector<pid_t> processes_of(const std::string& task);
  // Of all tasks that workers of this sandbox run.
  [[nodiscard]] std::vector<pid_t> all_task_processes() const;

 private:
  // Everything that is started from now on asks a server.
  void put_server_in_front();
  // Starts one on the store itself.
  void serve(const std::string& address);
  [[nodiscard]] Command command(const Arguments& arguments, std::string input) const;

  test::TempDir dir_;
  std::string store_url_;
  std::string server_url_;  // empty: there is none
  std::vector<std::pair<std::string, std::string>> environment_;
  std::unique_ptr<Process> server_;
};

inline constexpr Millis kLease{2'000};
inline constexpr Millis kHeartbeat{300};

// `drover work` on one type with a lease short enough for tests.
[[nodiscard]] Arguments work(std::string_view type, const Arguments& agent, const Arguments& more = {});

// Waits until the file has a line; its text without the line end. Nothing if there was none within the bound.
[[nodiscard]] std::optional<std::string> await_line(const std::string& file, Millis bound = kHangs);

// The member as text: a string's own, anything else as JSON; "(absent)" if there is none.
[[nodiscard]] std::string at(const json::Value& object, std::string_view key);

}  // namespace drover::e2e
