#include "e2e/terminal.h"

#include <fstream>
#include <stdexcept>

namespace drover::e2e {

// A server that is told to end still has its socket for a moment: each has its own.
Terminal::Terminal(const Sandbox& sandbox, std::string_view script, TerminalSize size)
    : sandbox_(sandbox), socket_(sandbox.file("tmux-" + std::to_string(mono_now().count()))) {
  sandbox.write_file("session.sh", script);
  const Outcome started = tmux({"-f", "/dev/null", "new-session", "-d", "-x", std::to_string(size.columns), "-y",
                                std::to_string(size.rows), "sh session.sh"});
  if (started.exit_code != 0) throw std::runtime_error(started.err + " (./dev test installs tmux)");
}

Terminal::~Terminal() {
  static_cast<void>(tmux({"kill-server"}));
}

Outcome Terminal::tmux(const Arguments& arguments) const {
  Command command{.argv = {"/usr/bin/tmux", "-S", socket_},
                  .environment = sandbox_.environment(),
                  .folder = sandbox_.folder(),
                  .input = {}};
  command.argv.insert(command.argv.end(), arguments.begin(), arguments.end());
  command.environment.push_back("DROVER=" DROVER_BIN);
  command.environment.push_back("TERM=xterm-256color");
  return run_to_end(command, kHangs);
}

std::string Terminal::screen() const {
  return tmux({"capture-pane", "-p"}).out;
}

std::string Terminal::painted_screen() const {
  return tmux({"capture-pane", "-p", "-e"}).out;
}

void Terminal::press(const std::string& keys) const {
  static_cast<void>(tmux({"send-keys", keys}));
}

void Terminal::resize(TerminalSize size) const {
  static_cast<void>(tmux({"resize-window", "-x", std::to_string(size.columns), "-y", std::to_string(size.rows)}));
}

pid_t Terminal::child() const {
  std::string shell = tmux({"display-message", "-p", "#{pane_pid}"}).out;
  shell.erase(shell.find('\n'));
  std::ifstream children("/proc/" + shell + "/task/" + shell + "/children");
  pid_t pid = -1;
  children >> pid;
  return pid;
}

testing::AssertionResult Terminal::await(std::string_view text) const {
  std::string seen;
  for (const Millis end = mono_now() + kHangs; mono_now() < end;) {
    seen = screen();
    if (seen.contains(text)) return testing::AssertionSuccess();
  }
  return testing::AssertionFailure() << "no \"" << text << "\" on the screen:\n" << seen;
}

}  // namespace drover::e2e
