// A terminal for tests, which tmux gives: a script runs in it, keys go in, the screen comes out.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "e2e/sandbox.h"

namespace drover::e2e {

struct TerminalSize {
  int columns = 130;
  int rows = 45;
};

// Ends with everything in it. The sandbox outlives it.
class Terminal {
 public:
  // `script` is for sh and finds the program as "$DROVER".
  Terminal(const Sandbox& sandbox, std::string_view script, TerminalSize size = {});
  ~Terminal();
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  [[nodiscard]] std::string screen() const;
  // With the escape sequences of its colours.
  [[nodiscard]] std::string painted_screen() const;
  void press(const std::string& keys) const;
  void resize(TerminalSize size) const;
  // The only child of the script.
  [[nodiscard]] pid_t child() const;
  // Looks until the screen has that text.
  [[nodiscard]] testing::AssertionResult await(std::string_view text) const;

 private:
  [[nodiscard]] Outcome tmux(const Arguments& arguments) const;

  const Sandbox& sandbox_;
  std::string socket_;
};

}  // namespace drover::e2e
