// drover export and import: a whole store as a file, and back into an empty one.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <map>

#include "base/rng.h"
#include "base/unique_fd.h"
#include "cli/loki.h"
#include "cli/project.h"
#include "cli/verbs.h"
#include "engine/spec.h"
#include "engine/transfer.h"

namespace drover::cli {
namespace {

constexpr std::size_t kLineBytesMax = 1U << 30;
constexpr std::size_t kBufferBytes = 1U << 16;
constexpr std::int64_t kProgressEvery = 256;
constexpr std::int64_t kFewTasks = 2'000;

std::unexpected<Error> cannot(std::string_view verb, const std::string& name, int error) {
  return drover::fail(ErrorCode::kInvalidArgument, fmt::format("cannot {} {}: {}", verb, name, std::strerror(error)));
}

// One line on a terminal that is written over and over; nothing elsewhere, and nothing for what takes no time.
class ProgressLine {
 public:
  explicit ProgressLine(Output& err) : err_(err) {}
  ~ProgressLine() {
    if (shown_) err_.write("\r\x1b[K");
  }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  void show(std::int64_t done, std::optional<std::int64_t> total) {
    if (!err_.look().terminal || done % kProgressEvery != 0 || done < kFewTasks) return;
    shown_ = true;
    const std::string of = total ? fmt::format(" of {} ({} %)", *total, done * 100 / *total) : "";
    err_.write(fmt::format("\r\x1b[K{} tasks{}", done, of));
  }

 private:
  Output& err_;
  bool shown_ = false;
};

// Lines into a file that has its name only when it is whole, or to stdout.
class DumpWriter {
 public:
  explicit DumpWriter(std::string name) : name_(std::move(name)) {}
  ~DumpWriter() {
    if (!to_stdout() && !done_ && fd_.get() >= 0) ::unlink(part().c_str());
  }
  DumpWriter(const DumpWriter&) = delete;
  DumpWriter& operator=(const DumpWriter&) = delete;

  [[nodiscard]] Status open() {
    if (to_stdout()) return {};
    fd_ = UniqueFd(::open(part().c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
    return fd_.get() >= 0 ? Status() : Status(cannot("write", part(), errno));
  }
  [[nodiscard]] Status line(std::string_view text) {
    buffer_.append(text).push_back('\n');
    return buffer_.size() >= kBufferBytes ? flush() : Status();
  }
  [[nodiscard]] Status close() {
    if (auto flushed = flush(); !flushed || to_stdout()) return flushed;
    if (::fsync(fd_.get()) != 0) return cannot("write", part(), errno);
    if (::rename(part().c_str(), name_.c_str()) != 0) return cannot("write", name_, errno);
    done_ = true;
    return {};
  }

 private:
  [[nodiscard]] bool to_stdout() const { return name_ == "-"; }
  [[nodiscard]] std::string part() const { return name_ + ".part"; }
  Status flush() {
    const int fd = to_stdout() ? STDOUT_FILENO : fd_.get();
    std::string_view rest = buffer_;
    while (!rest.empty()) {
      const ssize_t count = ::write(fd, rest.data(), rest.size());
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) return cannot("write", to_stdout() ? "stdout" : part(), errno);
      rest.remove_prefix(static_cast<std::size_t>(count));
    }
    buffer_.clear();
    return {};
  }

  const std::string name_;
  UniqueFd fd_;
  std::string buffer_;
  bool done_ = false;
};

class DumpReader {
 public:
  [[nodiscard]] Status open(const std::string& name) {
    name_ = name == "-" ? "stdin" : name;
    fd_ = UniqueFd(name == "-" ? ::dup(STDIN_FILENO) : ::open(name.c_str(), O_RDONLY | O_CLOEXEC));
    return fd_.get() >= 0 ? Status() : Status(cannot("read", name_, errno));
  }
  // Nothing at the end. What stands behind the last line end is a line too.
  [[nodiscard]] Result<std::optional<std::string>> line() {
    for (;;) {
      if (const std::size_t end = buffer_.find('\n', looked_at_); end != std::string::npos) {
        std::string text = buffer_.substr(begin_, end - begin_);
        begin_ = looked_at_ = end + 1;
        return text;
      }
      looked_at_ = buffer_.size();
      if (buffer_.size() - begin_ > kLineBytesMax) {
        return drover::fail(ErrorCode::kPayloadTooLarge, fmt::format("a line of {} is too long", name_));
      }
      const auto more = fill();
      if (!more) return std::unexpected(more.error());
      if (*more) continue;
      if (begin_ == buffer_.size()) return std::nullopt;
      std::string text = buffer_.substr(begin_);
      begin_ = looked_at_ = buffer_.size();
      return text;
    }
  }

 private:
  Result<bool> fill() {
    buffer_.erase(0, begin_);
    looked_at_ -= begin_;
    begin_ = 0;
    std::array<char, kBufferBytes> piece;
    for (;;) {
      const ssize_t count = ::read(fd_.get(), piece.data(), piece.size());
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) return cannot("read", name_, errno);
      buffer_.append(piece.data(), static_cast<std::size_t>(count));
      return count > 0;
    }
  }

  std::string name_;
  UniqueFd fd_;
  std::string buffer_;
  std::size_t begin_ = 0;
  std::size_t looked_at_ = 0;
};

std::string sentence(std::string_view what, const DumpCounts& counts) {
  return fmt::format("{} {} tasks, {} events and {} gate{}", what, counts.tasks, counts.events, counts.gates,
                     counts.gates == 1 ? "" : "s");
}

Result<DumpCounts> import_lines(DumpReader& reader, DumpImport& import, Output& err) {
  if (auto begun = import.begin(); !begun) return std::unexpected(begun.error());
  ProgressLine progress(err);
  for (;;) {
    const auto line = reader.line();
    if (!line) return std::unexpected(line.error());
    const std::optional<std::string>& text = *line;
    if (!text) return import.finish();
    if (auto taken = import.take(*text); !taken) return std::unexpected(taken.error());
    progress.show(import.counts().tasks, std::nullopt);
  }
}

// Those of the folder that an earlier import has taken.
Result<std::map<std::string, TaskId>> known_tasks(Store& store, const LokiFolder& loki) {
  const auto ids = open_ids(loki);
  if (!ids) return std::unexpected(ids.error());
  std::map<std::string, TaskId> known;
  for (const std::string& id : *ids) {
    const auto found = store.find_request(std::string(kDefaultOwner), loki_request_id(id));
    if (!found) return std::unexpected(found.error());
    if (const std::optional<TaskId>& task = *found) known.emplace(id, *task);
  }
  return known;
}

int import_loki(const std::string& folder, Context& context) {
  const auto loki = read_loki(folder);
  if (!loki) return context.fail(loki.error());
  const auto opened = open_own_store(context);
  if (!opened) return context.fail(opened.error());
  const auto known = known_tasks((*opened)->store(), *loki);
  if (!known) return context.fail(known.error());
  const auto specs = specs_from_loki(*loki, *known);
  if (!specs) return context.fail(specs.error());
  if (!specs->empty()) {
    if (const auto enqueued = (*opened)->queue().enqueue(*specs); !enqueued) return context.fail(enqueued.error());
  }
  context.say(fmt::format("imported {} tasks; {} were there already", specs->size(), known->size()));
  return kExitOk;
}

Result<std::vector<Task>> all_tasks(TaskQueue& queue) {
  std::vector<Task> tasks;
  std::optional<std::string> cursor;
  do {
    auto page = queue.list({}, 500, cursor);
    if (!page) return std::unexpected(page.error());
    std::ranges::move(page->tasks, std::back_inserter(tasks));
    cursor = std::move(page->cursor);
  } while (cursor);
  std::ranges::reverse(tasks);
  return tasks;
}

int export_loki(const std::string& folder, Context& context) {
  auto loki = std::filesystem::exists(folder) ? read_loki(folder) : Result<LokiFolder>(LokiFolder{});
  if (!loki) return context.fail(loki.error());
  const auto opened = open_own_store(context);
  if (!opened) return context.fail(opened.error());
  const auto tasks = all_tasks((*opened)->queue());
  if (!tasks) return context.fail(tasks.error());
  put_into_loki(*loki, *tasks);
  if (auto written = write_loki(folder, *loki); !written) return context.fail(written.error());
  context.say(fmt::format("exported {} tasks", tasks->size()));
  return kExitOk;
}

}  // namespace

int run(const ExportOptions& options, Context& context) {
  if (options.loki) return export_loki(*options.loki, context);
  const auto opened = open_own_store(context);
  if (!opened) return context.fail(opened.error());
  DumpWriter writer(options.file);
  if (auto ready = writer.open(); !ready) return context.fail(ready.error());
  const auto counts = [&] {
    ProgressLine progress(context.err);
    return export_dump((*opened)->store(),
                       {.line = [&](std::string_view line) { return writer.line(line); },
                        .progress = [&](std::int64_t done, std::int64_t total) { progress.show(done, total); }});
  }();
  if (!counts) return context.fail(counts.error());
  if (auto closed = writer.close(); !closed) return context.fail(closed.error());
  context.say(sentence("exported", *counts));
  return kExitOk;
}

int run(const ImportOptions& options, Context& context) {
  if (options.loki) return import_loki(*options.loki, context);
  DumpReader reader;
  if (auto ready = reader.open(options.file.value_or("-")); !ready) return context.fail(ready.error());
  const auto opened = open_own_store(context);
  if (!opened) return context.fail(opened.error());
  DumpImport import((*opened)->store(), (*opened)->engine(), system_rng());
  const auto counts = import_lines(reader, import, context.err);
  if (!counts) return context.fail(counts.error());
  context.say(sentence("imported", *counts));
  return kExitOk;
}

}  // namespace drover::cli
