// agentsim: a fake agent with every bad habit that a real one can have.
//
//   agentsim [key=value]...      members of a JSON object on stdin override the arguments
//
// What it does, in this order; what is not asked for is left out:
//   read_stdin=false             does not even look at its input
//   ignore_term=true             TERM does nothing
//   witness=FILE                 appends "TASK RUN start PID MONOTONIC_MS", and the same with stop at its own end
//   pid_file=FILE                writes its pid
//   print_env=true               prints its environment
//   echo_stdin=true              prints its input
//   show_task=true               prints what GET /v1/task answers
//   progress=N [message=TEXT]    through the door
//   log=TEXT                     through the door
//   checkpoint=JSON              through the door
//   children=N [child_type=T] [child_payload=JSON]   spawns through the door
//   door=TARGET [door_body=JSON] posts there, prints the status and the answer
//   requests=N bill=FILE [request_cost=MICRODOLLARS] [request_ms=N]
//                                makes N requests to a model: appends "TASK RUN COST" to the bill, as the provider
//                                would, and reports what it has used in all through the door; a TERM waits until it has
//   grandchild=FILE              double fork and setsid; it ignores TERM, writes its pid to FILE and stays for ever
//   hopper=FILE                  a process that forks and exits again and again, in a session of its own; ignores TERM,
//   and
//                                writes its pid to FILE when it has hopped a few times
//   hold_pipe_ms=N               a child keeps stdout open for that long after the end
//   sleep_ms=N
//   flood=BYTES                  so much text on stdout; flood_err=BYTES on stderr
//   garbage=BYTES                so much that is no UTF-8
//   fail_first=K [fail_exit=N]   the runs up to the K-th fail with exit code N (1)
//   hang=true                    stays for ever
//   print=TEXT, print_err=TEXT   one line
//   signal=N                     kills itself
//   exit=N
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>
#include <string_view>
#include <thread>

#include "door_client.h"
#include "settings.h"

namespace agentsim {
namespace {

constexpr int kExitDoorRefused = 90;

void write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t size = ::write(fd, text.data(), text.size());
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) std::_Exit(EXIT_FAILURE);
    text.remove_prefix(static_cast<std::size_t>(size));
  }
}

// One write, so that lines of several processes do not mix.
void append_line(const std::string& file, const std::string& line) {
  const int fd = ::open(file.c_str(), O_CREAT | O_WRONLY | O_APPEND | O_CLOEXEC, 0600);
  if (fd < 0) std::_Exit(EXIT_FAILURE);
  write_all(fd, line + "\n");
  ::close(fd);
}

std::string read_stdin() {
  std::string text;
  std::array<char, 65536> buffer;
  for (;;) {
    const ssize_t size = ::read(STDIN_FILENO, buffer.data(), buffer.size());
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) return text;
    text.append(buffer.data(), static_cast<std::size_t>(size));
  }
}

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "-" : value;
}

void witness(const Settings& settings, std::string_view what) {
  if (!settings.has("witness")) return;
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  const long now_ms = now.tv_sec * 1000 + now.tv_nsec / 1'000'000;
  append_line(settings.text("witness"), fmt::format("{} {} {} {} {}", environment("DROVER_TASK_ID"),
                                                    environment("DROVER_RUN"), what, ::getpid(), now_ms));
}

[[noreturn]] void stay_for_ever() {
  for (;;) ::pause();
}

void close_stdio() {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) ::close(fd);
}

// Nobody's child, nobody's group: only a sub-reaper finds it.
void start_grandchild(const std::string& pid_file) {
  const pid_t child = ::fork();
  if (child != 0) return;
  ::setsid();
  if (::fork() != 0) std::_Exit(EXIT_SUCCESS);
  std::signal(SIGTERM, SIG_IGN);
  close_stdio();
  append_line(pid_file, std::to_string(::getpid()));
  stay_for_ever();
}

// Whoever reads its pid and then signals it comes too late.
void start_hopper(const std::string& pid_file) {
  constexpr int kHopsBeforeItTells = 50;
  if (::fork() != 0) return;
  ::setsid();
  std::signal(SIGTERM, SIG_IGN);
  close_stdio();
  for (int hops = 0;; ++hops) {
    if (hops == kHopsBeforeItTells) append_line(pid_file, std::to_string(::getpid()));
    const pid_t next = ::fork();
    if (next > 0) std::_Exit(EXIT_SUCCESS);
  }
}

void start_pipe_holder(long hold_ms) {
  if (::fork() != 0) return;
  std::this_thread::sleep_for(std::chrono::milliseconds(hold_ms));
  std::_Exit(EXIT_SUCCESS);
}

void flood(int fd, long bytes) {
  std::string block;
  while (block.size() < 65536) block += fmt::format("line of output number {}\n", block.size());
  for (long left = bytes; left > 0; left -= static_cast<long>(block.size())) {
    write_all(fd, std::string_view(block).substr(0, static_cast<std::size_t>(left)));
  }
}

void print_garbage(long bytes) {
  std::string text;
  for (long i = 0; i < bytes; ++i) text += static_cast<char>(0x80 + i * 37 % 0x80);
  write_all(STDOUT_FILENO, text);
}

// Ends the agent if the door refuses: a test sees it as exit code 90.
std::string must_ask(const std::string& method, const std::string& target, const std::string& body) {
  const Answer answer = ask_door(method, target, body);
  if (answer.status >= 200 && answer.status < 300) return answer.body;
  write_all(STDERR_FILENO, fmt::format("door: {} {}: {} {}\n", method, target, answer.status, answer.body));
  std::_Exit(kExitDoorRefused);
}

void spawn_children(const Settings& settings) {
  std::string tasks;
  for (long i = 0; i < settings.number("children", 0); ++i) {
    tasks += fmt::format(R"({}{{"type":"{}","payload":{}}})", tasks.empty() ? "" : ",",
                         settings.has("child_type") ? settings.text("child_type") : "child",
                         settings.has("child_payload") ? settings.text("child_payload") : "null");
  }
  write_all(STDOUT_FILENO, must_ask("POST", "/v1/tasks", "{\"tasks\":[" + tasks + "]}"));
}

// Whoever stops it politely does so between two requests.
void make_requests(const Settings& settings) {
  sigset_t polite;
  sigemptyset(&polite);
  sigaddset(&polite, SIGTERM);
  const long cost = settings.number("request_cost", 1'000);
  for (long made = 1; made <= settings.number("requests", 0); ++made) {
    std::this_thread::sleep_for(std::chrono::milliseconds(settings.number("request_ms", 10)));
    ::sigprocmask(SIG_BLOCK, &polite, nullptr);
    append_line(settings.text("bill"),
                fmt::format("{} {} {}", environment("DROVER_TASK_ID"), environment("DROVER_RUN"), cost));
    const std::string dollars = fmt::format("{}.{:06}", made * cost / 1'000'000, made * cost % 1'000'000);
    must_ask("POST", "/v1/task/usage",
             fmt::format(R"({{"usage":{{"output_tokens":{0},"turns":{0},"cost_usd":{1},"cost_basis":"reported"}}}})",
                         made, dollars));
    ::sigprocmask(SIG_UNBLOCK, &polite, nullptr);
  }
}

void use_door(const Settings& settings) {
  if (settings.is_on("show_task")) write_all(STDOUT_FILENO, must_ask("GET", "/v1/task", ""));
  if (settings.has("progress")) {
    must_ask("POST", "/v1/task/progress",
             fmt::format(R"({{"percent":{},"message":"{}"}})", settings.text("progress"), settings.text("message")));
  }
  if (settings.has("log")) must_ask("POST", "/v1/task/log", fmt::format(R"({{"lines":["{}"]}})", settings.text("log")));
  if (settings.has("checkpoint")) must_ask("POST", "/v1/task/checkpoint", settings.text("checkpoint"));
  if (settings.has("children")) spawn_children(settings);
  if (settings.has("door")) {
    const Answer answer = ask_door("POST", settings.text("door"), settings.text("door_body"));
    write_all(STDOUT_FILENO, fmt::format("{}\n{}", answer.status, answer.body));
  }
}

void start_relatives(const Settings& settings) {
  if (settings.has("grandchild")) start_grandchild(settings.text("grandchild"));
  if (settings.has("hopper")) start_hopper(settings.text("hopper"));
  if (settings.has("hold_pipe_ms")) start_pipe_holder(settings.number("hold_pipe_ms", 0));
}

void make_noise(const Settings& settings) {
  flood(STDOUT_FILENO, settings.number("flood", 0));
  flood(STDERR_FILENO, settings.number("flood_err", 0));
  print_garbage(settings.number("garbage", 0));
}

void say(const Settings& settings, const std::string& input) {
  if (settings.is_on("print_env")) {
    for (char** variable = environ; *variable != nullptr; ++variable) {
      write_all(STDOUT_FILENO, std::string(*variable) + "\n");
    }
  }
  if (settings.is_on("echo_stdin")) write_all(STDOUT_FILENO, input);
}

bool must_fail(const Settings& settings) {
  if (!settings.has("fail_first")) return false;
  return std::strtol(environment("DROVER_RUN").c_str(), nullptr, 10) <= settings.number("fail_first", 0);
}

int run(Settings settings) {
  if (settings.is_on("ignore_term")) std::signal(SIGTERM, SIG_IGN);
  const std::string input = settings.text("read_stdin") == "false" ? std::string() : read_stdin();
  settings.add_json(input);
  if (settings.is_on("ignore_term")) std::signal(SIGTERM, SIG_IGN);
  witness(settings, "start");
  if (settings.has("pid_file")) append_line(settings.text("pid_file"), std::to_string(::getpid()));
  say(settings, input);
  use_door(settings);
  make_requests(settings);
  start_relatives(settings);
  std::this_thread::sleep_for(std::chrono::milliseconds(settings.number("sleep_ms", 0)));
  make_noise(settings);
  if (must_fail(settings)) {
    witness(settings, "stop");
    return static_cast<int>(settings.number("fail_exit", 1));
  }
  if (settings.is_on("hang")) stay_for_ever();
  if (settings.has("print")) write_all(STDOUT_FILENO, settings.text("print") + "\n");
  if (settings.has("print_err")) write_all(STDERR_FILENO, settings.text("print_err") + "\n");
  witness(settings, "stop");
  if (settings.has("signal")) {
    const int number = static_cast<int>(settings.number("signal", SIGKILL));
    std::signal(number, SIG_DFL);  // a sanitizer would catch some and exit instead
    std::raise(number);
  }
  return static_cast<int>(settings.number("exit", 0));
}

}  // namespace
}  // namespace agentsim

int main(int argc, char** argv) {
  agentsim::Settings settings;
  for (int i = 1; i < argc; ++i) {
    if (!settings.add_argument(argv[i])) {
      fmt::print(stderr, "agentsim: \"{}\" is not key=value\n", argv[i]);
      return 2;
    }
  }
  return agentsim::run(std::move(settings));
}
