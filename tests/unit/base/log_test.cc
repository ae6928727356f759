#include "base/log.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <termios.h>
#include <unistd.h>

#include <cstdlib>
#include <ctime>
#include <string>
#include <thread>
#include <vector>

#include "base/json.h"
#include "base/log_format.h"

namespace drover {
namespace {

using namespace std::string_literals;

constexpr Time kNow{Millis{1'794'772'237'123}};  // 2026-11-15T19:50:37.123Z

class LogFormatTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(::setenv("TZ", "UTC", 1), 0);
    ::tzset();
  }
};

std::string formatted(LogStyle style, LogLevel level, std::string_view component, std::string_view message,
                      LogFields fields = {}) {
  return format_record({kNow, level, component, message, fields}, style);
}

TEST_F(LogFormatTest, TextIsForPeople) {
  EXPECT_EQ(formatted(LogStyle::kPlain, LogLevel::kWarn, "store", "bell file is gone", {{"path", "/x"}}),
            "19:50:37.123 WARN  store  bell file is gone  path=/x\n");
  EXPECT_EQ(formatted(LogStyle::kPlain, LogLevel::kError, "cli", "no", {{"a", ""}, {"b", "x y"}, {"c", "q\"=\n"}}),
            "19:50:37.123 ERROR cli  no  a=\"\"  b=\"x y\"  c=\"q\\\"=\\n\"\n");
  EXPECT_EQ(formatted(LogStyle::kPlain, LogLevel::kInfo, "cli", "up"), "19:50:37.123 INFO  cli  up\n");
  EXPECT_EQ(formatted(LogStyle::kPlain, LogLevel::kDebug, "cli", "up"), "19:50:37.123 DEBUG cli  up\n");
}

TEST_F(LogFormatTest, TextShowsTheLocalTimeOfDay) {
  ASSERT_EQ(::setenv("TZ", "XXX-5:30", 1), 0);
  ::tzset();
  EXPECT_TRUE(formatted(LogStyle::kPlain, LogLevel::kInfo, "cli", "up").starts_with("01:20:37.123 "));
}

TEST_F(LogFormatTest, TextCannotSteerTheTerminalNorForgeLines) {
  EXPECT_EQ(formatted(LogStyle::kPlain, LogLevel::kInfo, "a\nb", "x\r\n\x1b[2J\x7f\u009b31m\xFF", {{"k\n", "v\n\x1b"}}),
            "19:50:37.123 INFO  a\\nb  x\\u000d\\n\\u001b[2J\\u007f\\u009b31m\uFFFD  k\\n=v\\n\\u001b\n");
}

TEST_F(LogFormatTest, ColourWrapsOnlyOurOwnWords) {
  EXPECT_EQ(formatted(LogStyle::kColour, LogLevel::kWarn, "store", "gone", {{"path", "/x"}}),
            "\x1b[2m19:50:37.123\x1b[0m \x1b[33mWARN \x1b[0m store  gone  \x1b[2mpath=\x1b[0m/x\n");
}

TEST_F(LogFormatTest, JsonIsOneObjectALine) {
  EXPECT_EQ(formatted(LogStyle::kJson, LogLevel::kWarn, "store", "a\n\"b\"", {{"path", "/x"}, {"message", "y"}}),
            R"({"time":"2026-11-15T19:50:37.123Z","level":"warn","component":"store","message":"a\n\"b\"",)"
            R"("fields":{"path":"/x","message":"y"}})"
            "\n");
  EXPECT_EQ(formatted(LogStyle::kJson, LogLevel::kInfo, "cli", "up"),
            R"({"time":"2026-11-15T19:50:37.123Z","level":"info","component":"cli","message":"up"})"
            "\n");
}

TEST_F(LogFormatTest, ValuesOfSecretNamesAreRedacted) {
  for (const LogStyle style : {LogStyle::kPlain, LogStyle::kColour, LogStyle::kJson}) {
    const std::string line = formatted(style, LogLevel::kInfo, "server", "request", {{"Authorization", "hunter2"}});
    EXPECT_FALSE(line.contains("hunter2")) << line;
    EXPECT_TRUE(line.contains("[redacted]")) << line;
  }
}

TEST(SecretNameTest, FindsTheWordsAnywhereInAnyCase) {
  for (const std::string_view name : {"authorization", "Proxy-Authorization", "token", "DROVER_TOKEN", "tokens",
                                      "client_secret", "password", "dbPassword", "apikey", "api_key", "X-Api-Key"}) {
    EXPECT_TRUE(is_secret_name(name)) << name;
  }
  for (const std::string_view name : {"", "path", "author", "api", "key", "api.key", "api__key", "pass", "toke"}) {
    EXPECT_FALSE(is_secret_name(name)) << name;
  }
}

TEST(LogLevelTest, Parses) {
  EXPECT_EQ(parse_log_level("debug"), LogLevel::kDebug);
  EXPECT_EQ(parse_log_level("info"), LogLevel::kInfo);
  EXPECT_EQ(parse_log_level("warn"), LogLevel::kWarn);
  EXPECT_EQ(parse_log_level("error"), LogLevel::kError);
  EXPECT_EQ(parse_log_level("off"), LogLevel::kOff);
  for (const std::string_view text : {"", "INFO", "warning", "trace"}) EXPECT_EQ(parse_log_level(text), std::nullopt);
}

// Puts another file in the place of stderr while it lives.
class StderrInto {
 public:
  explicit StderrInto(int fd) : saved_(::dup(STDERR_FILENO)) { ::dup2(fd, STDERR_FILENO); }
  ~StderrInto() {
    ::dup2(saved_, STDERR_FILENO);
    ::close(saved_);
  }
  StderrInto(const StderrInto&) = delete;
  StderrInto& operator=(const StderrInto&) = delete;

 private:
  int saved_;
};

std::vector<std::string> lines_of(int fd) {
  std::vector<std::string> lines;
  std::string line;
  char buffer[4096];
  ::lseek(fd, 0, SEEK_SET);
  for (ssize_t size = 0; (size = ::read(fd, buffer, sizeof buffer)) > 0;) {
    for (const char c : std::string_view(buffer, static_cast<std::size_t>(size))) {
      line += c;
      if (c == '\n') lines.push_back(std::exchange(line, {}));
    }
  }
  EXPECT_EQ(line, "") << "a line without its end";
  return lines;
}

class LogTest : public testing::Test {
 protected:
  void SetUp() override {
    file_ = ::memfd_create("stderr", MFD_CLOEXEC);
    ASSERT_GE(file_, 0);
  }
  void TearDown() override {
    configure_log(LogLevel::kInfo, LogFormat::kAuto);
    ::close(file_);
  }

  int file_ = -1;
};

TEST_F(LogTest, WritesFromTheChosenLevelUp) {
  const struct {
    LogLevel level;
    std::size_t lines;
  } rows[] = {
      {LogLevel::kDebug, 4}, {LogLevel::kInfo, 3}, {LogLevel::kWarn, 2}, {LogLevel::kError, 1}, {LogLevel::kOff, 0}};
  for (const auto& row : rows) {
    ASSERT_EQ(::ftruncate(file_, 0), 0);
    ::lseek(file_, 0, SEEK_SET);
    configure_log(row.level, LogFormat::kText);
    {
      const StderrInto redirected(file_);
      log_debug("test", "debug");
      log_info("test", "info");
      log_warn("test", "warn");
      log_error("test", "error");
    }
    EXPECT_EQ(lines_of(file_).size(), row.lines);
  }
}

TEST_F(LogTest, AutoMeansJsonWhenStderrIsNoTerminal) {
  configure_log(LogLevel::kInfo, LogFormat::kAuto);
  {
    const StderrInto redirected(file_);
    log_info("test", "hello", {{"n", "1"}});
  }
  const auto lines = lines_of(file_);
  ASSERT_EQ(lines.size(), 1U);
  const auto record = json::parse(lines[0]);
  ASSERT_TRUE(record.has_value()) << lines[0];
  EXPECT_EQ(*record->find("message")->as_string(), "hello");
  EXPECT_TRUE(parse_time(*record->find("time")->as_string()).has_value());
}

TEST_F(LogTest, TextOutsideATerminalHasNoColour) {
  configure_log(LogLevel::kInfo, LogFormat::kText);
  {
    const StderrInto redirected(file_);
    log_info("test", "hello");
  }
  const auto lines = lines_of(file_);
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_FALSE(lines[0].contains('\x1b'));
  EXPECT_TRUE(lines[0].ends_with(" INFO  test  hello\n")) << lines[0];
}

TEST_F(LogTest, RecordsOfManyThreadsStayWhole) {
  configure_log(LogLevel::kInfo, LogFormat::kJson);
  constexpr std::size_t kThreads = 8;
  constexpr std::size_t kRecords = 200;
  {
    const StderrInto redirected(file_);
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < kThreads; ++i) {
      threads.emplace_back([] {
        for (std::size_t n = 0; n < kRecords; ++n) log_info("test", std::string(300, 'x'), {{"n", std::to_string(n)}});
      });
    }
  }
  const auto lines = lines_of(file_);
  EXPECT_EQ(lines.size(), kThreads * kRecords);
  for (const std::string& line : lines) ASSERT_TRUE(json::parse(line).has_value()) << line;
}

TEST_F(LogTest, KeepsErrno) {
  configure_log(LogLevel::kInfo, LogFormat::kAuto);
  const StderrInto redirected(file_);
  errno = ENOSPC;
  log_error("test", "disk is full");
  EXPECT_EQ(errno, ENOSPC);
}

// What one record looks like on a terminal in that environment.
std::string on_a_terminal(const char* term, const char* no_color) {
  const int master = ::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
  EXPECT_EQ(::grantpt(master), 0);
  EXPECT_EQ(::unlockpt(master), 0);
  char name[64];
  EXPECT_EQ(::ptsname_r(master, name, sizeof name), 0);
  const int terminal = ::open(name, O_RDWR | O_NOCTTY | O_CLOEXEC);
  termios settings{};
  EXPECT_EQ(::tcgetattr(terminal, &settings), 0);
  ::cfmakeraw(&settings);
  EXPECT_EQ(::tcsetattr(terminal, TCSANOW, &settings), 0);

  EXPECT_EQ(term == nullptr ? ::unsetenv("TERM") : ::setenv("TERM", term, 1), 0);
  EXPECT_EQ(no_color == nullptr ? ::unsetenv("NO_COLOR") : ::setenv("NO_COLOR", no_color, 1), 0);
  {
    const StderrInto redirected(terminal);
    log_info("test", "hello");
  }
  char buffer[1024];
  const ssize_t size = ::read(master, buffer, sizeof buffer);
  ::close(terminal);
  ::close(master);
  return size > 0 ? std::string(buffer, static_cast<std::size_t>(size)) : "";
}

TEST_F(LogTest, ATerminalGetsTextInColourUnlessItDeclines) {
  configure_log(LogLevel::kInfo, LogFormat::kAuto);
  const struct {
    const char* term;
    const char* no_color;
    bool colour;
  } rows[] = {{"xterm-256color", nullptr, true},
              {"xterm-256color", "", true},
              {"xterm-256color", "1", false},
              {"dumb", nullptr, false},
              {nullptr, nullptr, false}};
  for (const auto& row : rows) {
    const std::string line = on_a_terminal(row.term, row.no_color);
    EXPECT_EQ(line.contains("\x1b["), row.colour) << line;
    EXPECT_TRUE(line.ends_with("test  hello\n")) << line;
  }
  ::unsetenv("NO_COLOR");
}

}  // namespace
}  // namespace drover
