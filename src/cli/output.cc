#include "cli/output.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <optional>

namespace drover::cli {
namespace {

constexpr int kWidthDefault = 80;
constexpr int kWidthMin = 40;

std::optional<int> positive_int(const std::string* text) {
  if (text == nullptr) return std::nullopt;
  int value = 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), value);
  if (error != std::errc{} || end != text->data() + text->size() || value <= 0) return std::nullopt;
  return value;
}

int terminal_width(int fd, const Environment& environment) {
  winsize size{};
  if (::ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  return positive_int(environment.find("COLUMNS")).value_or(kWidthDefault);
}

std::string_view code_of(Paint paint) {
  switch (paint) {
    case Paint::kNone:
      return "0";
    case Paint::kBold:
      return "1";
    case Paint::kDim:
      return "2";
    case Paint::kRed:
      return "31";
    case Paint::kGreen:
      return "32";
    case Paint::kYellow:
      return "33";
    case Paint::kBlue:
      return "34";
    case Paint::kMagenta:
      return "35";
    case Paint::kCyan:
      return "36";
  }
  return "0";
}

}  // namespace

bool wants_color(ColorChoice choice, bool terminal, const Environment& environment) {
  if (choice != ColorChoice::kAuto) return choice == ColorChoice::kAlways;
  if (environment.find("NO_COLOR") != nullptr) return false;
  if (const std::string* force = environment.find("CLICOLOR_FORCE"); force != nullptr && *force != "0") return true;
  const std::string* term = environment.find("TERM");
  return terminal && term != nullptr && *term != "dumb";
}

Look look_of(int fd, ColorChoice choice, const Environment& environment) {
  const bool terminal = ::isatty(fd) == 1;
  return {.terminal = terminal,
          .color = wants_color(choice, terminal, environment),
          .width = std::max(kWidthMin, terminal_width(fd, environment))};
}

std::string painted(std::string_view text, Paint paint, const Look& look) {
  if (!look.color || paint == Paint::kNone) return std::string(text);
  return fmt::format("\x1b[{}m{}\x1b[0m", code_of(paint), text);
}

void Output::write(std::string_view text) {
  while (!text.empty() && error_ == 0) {
    const ssize_t written = ::write(fd_, text.data(), text.size());
    if (written >= 0) {
      text.remove_prefix(static_cast<std::size_t>(written));
    } else if (errno == EAGAIN) {  // somebody made the shared terminal or pipe non-blocking
      pollfd ready{.fd = fd_, .events = POLLOUT, .revents = 0};
      ::poll(&ready, 1, -1);
    } else if (errno != EINTR) {
      error_ = errno;
    }
  }
}

void Output::line(std::string_view text) {
  std::string whole(text);
  write(whole.append(1, '\n'));
}

Status Output::result() const {
  if (error_ == 0 || error_ == EPIPE) return {};
  const ErrorCode code = error_ == ENOSPC ? ErrorCode::kDiskFull : ErrorCode::kInternal;
  return fail(code, fmt::format("cannot write the output: {}", std::strerror(error_)));
}

}  // namespace drover::cli
