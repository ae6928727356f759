#include "e2e/sandbox.h"
#include "support/redis_server.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <poll.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <set>
#include <stdexcept>
#include <utility>

namespace drover::e2e {
namespace {

// What sanitizers and coverage need to be told in every process.
constexpr const char* kPassedOn[] = {"PATH",
                                     "ASAN_OPTIONS",
                                     "UBSAN_OPTIONS",
                                     "TSAN_OPTIONS",
                                     "ASAN_SYMBOLIZER_PATH",
                                     "TSAN_SYMBOLIZER_PATH",
                                     "LLVM_PROFILE_FILE"};

constexpr std::string_view kServed = "served_";
constexpr std::string_view kRedis = "redis";
// What is not asked of a server but done to the store.
constexpr std::string_view kOwnStoreVerbs[] = {"up", "serve"};

// The same tests run over every store and over a server in front of it: DROVER_TEST_STORE names it, SQLite if it is
// not set.
std::string_view chosen_store() {
  const char* named = std::getenv("DROVER_TEST_STORE");
  if (named == nullptr) return "sqlite";
  for (const std::string_view known : {"sqlite", "redis", "served_sqlite", "served_redis"}) {
    if (known == named) return known;
  }
  throw std::runtime_error(fmt::format("no such store to test: {}", named));
}

json::Value parse_or_throw(std::string_view text) {
  auto value = json::parse(text);
  if (!value) throw std::runtime_error(fmt::format("not JSON: {}: {}", value.error().message, text));
  return *std::move(value);
}

}  // namespace

std::optional<json::Value> EventStream::next(std::string_view name, std::string_view task, Millis bound) {
  const Millis end = mono_now() + bound;
  while (auto line = follower_->read_line(end - mono_now())) {
    json::Value event = parse_or_throw(*line);
    if (at(event, "name") == name && at(event, "task_id") == task) return event;
  }
  return std::nullopt;
}

Sandbox::Sandbox() {
  for (const char* name : kPassedOn) {
    if (const char* value = std::getenv(name)) set(name, value);
  }
  for (const char* folder : {"home", "state", "runtime", "tmp"}) {
    std::filesystem::create_directory(dir_.path() / folder);
    std::filesystem::permissions(dir_.path() / folder, std::filesystem::perms::owner_all);
  }
  set("HOME", file("home"));
  set("XDG_STATE_HOME", file("state"));
  set("XDG_RUNTIME_DIR", file("runtime"));
  set("TMPDIR", file("tmp"));
  set("LANG", "C.UTF-8");
  set("DROVER_LISTEN", "127.0.0.1:0");
  std::string_view store = chosen_store();
  const bool served = store.starts_with(kServed);
  if (served) store.remove_prefix(kServed.size());
  store_url_ = store == kRedis ? test::shared_redis().url(test::fresh_prefix()) : "sqlite:" + store_path();
  set("DROVER_STORE", store_url_);
  if (served) put_server_in_front();
}

void Sandbox::serve(const std::string& address) {
  server_ = start({"serve", "--listen", address});
  const Millis end = mono_now() + kHangs;
  std::string said;
  while (said.find("; Ctrl-C") == std::string::npos) {
    if (mono_now() > end || server_->wait(Millis{1})) throw std::runtime_error("the server did not start: " + said);
    said = server_->errors();
  }
  const std::size_t begin = said.find("http://");
  server_url_ = said.substr(begin, said.find(';', begin) - begin);
}

void Sandbox::put_server_in_front() {
  serve("127.0.0.1:0");
  std::string token = must({"token", "create", "--role", "admin"});
  token.pop_back();
  set("DROVER_STORE", server_url_);
  set("DROVER_TOKEN", token);
}

void Sandbox::kill_server() {
  if (!is_served()) return;
  server_.reset();
  set("DROVER_STORE", store_url_);
  serve(server_url_.substr(std::string_view("http://").size()));
  set("DROVER_STORE", server_url_);
}

std::size_t Sandbox::log_bytes_kept() {
  return chosen_store().ends_with(kRedis) ? 64U << 10U : 1U << 20U;
}

void Sandbox::set(const std::string& name, const std::string& value) {
  std::erase_if(environment_, [&](const auto& variable) { return variable.first == name; });
  if (!value.empty()) environment_.emplace_back(name, value);
}

void Sandbox::write_file(std::string_view name, std::string_view text) const {
  std::ofstream out(dir_.path() / name, std::ios::binary);
  out << text;
  if (!out.flush()) throw std::runtime_error(fmt::format("cannot write {}", name));
}

std::vector<std::string> Sandbox::environment() const {
  std::vector<std::string> variables;
  for (const auto& [name, value] : environment_) variables.push_back(name + "=" + value);
  return variables;
}

Command Sandbox::command(const Arguments& arguments, std::string input) const {
  Command command{.argv = {DROVER_BIN}, .environment = {}, .folder = dir_.path(), .input = std::move(input)};
  command.argv.insert(command.argv.end(), arguments.begin(), arguments.end());
  command.environment = environment();
  const bool is_own = !arguments.empty() && std::ranges::find(kOwnStoreVerbs, arguments[0]) != std::end(kOwnStoreVerbs);
  if (is_own && is_served()) {
    std::ranges::replace(command.environment, "DROVER_STORE=" + server_url_, "DROVER_STORE=" + store_url_);
  }
  return command;
}

Outcome Sandbox::drover(const Arguments& arguments, std::string input, Millis bound) const {
  return run_to_end(command(arguments, std::move(input)), bound);
}

std::unique_ptr<Process> Sandbox::start(const Arguments& arguments, std::string input) const {
  return std::make_unique<Process>(command(arguments, std::move(input)));
}

EventStream Sandbox::events() const {
  return EventStream(start({"events", "-f", "--after", "0", "--json"}));
}

std::string Sandbox::must(const Arguments& arguments, const std::string& input) const {
  Outcome outcome = drover(arguments, input);
  if (outcome.exit_code != 0) {
    throw std::runtime_error(fmt::format("drover {}: exit code {}\n{}{}", fmt::join(arguments, " "), outcome.exit_code,
                                         outcome.out, outcome.err));
  }
  return std::move(outcome.out);
}

json::Value Sandbox::must_json(const Arguments& arguments, const std::string& input) const {
  return parse_or_throw(must(arguments, input));
}

std::string Sandbox::enqueue(Arguments arguments) const {
  arguments.insert(arguments.begin(), "enqueue");
  std::string id = must(arguments);
  id.erase(id.find_last_not_of('\n') + 1);
  return id;
}

json::Value Sandbox::show(const std::string& id) const {
  return must_json({"show", id, "--json"});
}

std::string Sandbox::state_of(const std::string& id) const {
  return at(show(id), "state");
}

std::string Sandbox::dump() const {
  return must({"list", "--json", "--limit", "1000000"}) + must({"events", "--json"}) + must({"config", "show"});
}

std::vector<pid_t> Sandbox::processes_of(const std::string& task) {
  std::vector<pid_t> pids;
  for (const Marked& process : processes_with("DROVER_TASK_ID")) {
    if (process.value == task) pids.push_back(process.pid);
  }
  return pids;
}

std::vector<pid_t> Sandbox::all_task_processes() const {
  std::set<pid_t> ours;
  for (const Marked& process : processes_with("HOME")) {
    if (process.value == file("home")) ours.insert(process.pid);
  }
  std::vector<pid_t> pids;
  for (const Marked& process : processes_with("DROVER_TASK_ID")) {
    if (ours.contains(process.pid)) pids.push_back(process.pid);
  }
  return pids;
}

Arguments work(std::string_view type, const Arguments& agent, const Arguments& more) {
  Arguments arguments{"work",
                      "--type",
                      std::string(type),
                      "--lease",
                      format_duration(kLease),
                      "--heartbeat",
                      format_duration(kHeartbeat)};
  arguments.insert(arguments.end(), more.begin(), more.end());
  arguments.emplace_back("--");
  arguments.insert(arguments.end(), agent.begin(), agent.end());
  return arguments;
}

std::optional<std::string> await_line(const std::string& file, Millis bound) {
  const Millis end = mono_now() + bound;
  const UniqueFd changes(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
  const std::filesystem::path path(file);
  ::inotify_add_watch(changes.get(), path.parent_path().c_str(), IN_CREATE | IN_MODIFY | IN_MOVED_TO);
  for (;;) {
    std::string line;
    std::ifstream in(path);
    if (std::getline(in, line) && !in.eof()) return line;
    pollfd one{changes.get(), POLLIN, 0};
    const Millis left = end - mono_now();
    if (left <= Millis{0} || ::poll(&one, 1, static_cast<int>(left.count())) <= 0) return std::nullopt;
    std::array<char, 4096> ignored;
    [[maybe_unused]] const ssize_t size = ::read(changes.get(), ignored.data(), ignored.size());
  }
}

std::string at(const json::Value& object, std::string_view key) {
  const json::Value* member = object.find(key);
  if (member == nullptr) return "(absent)";
  return member->as_string() != nullptr ? *member->as_string() : json::dump(*member);
}

}  // namespace drover::e2e
