// Where a command writes: a descriptor, what it is, and how text for it should look.
#pragma once

#include <string>
#include <string_view>

#include "cli/environment.h"
#include "cli/options.h"
#include "drover/error.h"

namespace drover::cli {

// How text is laid out for one reader.
struct Look {
  bool terminal = false;  // a person reads; otherwise a program
  bool color = false;
  int width = 80;  // columns

  bool operator==(const Look&) const = default;
};

// --color wins, then NO_COLOR, then CLICOLOR_FORCE, then whether it is a terminal that knows colours (TERM is not
// dumb).
[[nodiscard]] bool wants_color(ColorChoice choice, bool terminal, const Environment& environment);
// What `fd` leads to. The width is the terminal's, else COLUMNS, else 80.
[[nodiscard]] Look look_of(int fd, ColorChoice choice, const Environment& environment);

enum class Paint : std::uint8_t { kNone, kBold, kDim, kRed, kGreen, kYellow, kBlue, kMagenta, kCyan };
// The text in that paint, if the look has colours.
[[nodiscard]] std::string painted(std::string_view text, Paint paint, const Look& look);

// Writes whole texts at once, so that a reader sees each as soon as it is there. After a failed write nothing more is
// written. One thread.
class Output {
 public:
  Output(int fd, Look look) : fd_(fd), look_(look) {}

  [[nodiscard]] const Look& look() const { return look_; }
  void write(std::string_view text);
  void line(std::string_view text);
  // False once the reader is gone or a write failed: there is no sense in going on.
  [[nodiscard]] bool open() const { return error_ == 0; }
  // The failure that has to be told: none if the reader merely went away, as `head` does.
  [[nodiscard]] Status result() const;

 private:
  int fd_;
  Look look_;
  int error_ = 0;  // errno of the write that failed
};

}  // namespace drover::cli
