// drover export and import: a whole store as a file, and back into an empty one.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <map>

#include "base/clock.h"
#include "base/text.h"
#include "base/try.h"
#include "base/unique_fd.h"
#include "cli/loki.h"
#include "cli/project.h"
#include "cli/verb.h"
#include "engine/spec.h"
#include "engine/transfer.h"

namespace drover::cli {
namespace {

struct ExportOptions {
  std::string file = "-";           // - for stdout
  std::optional<std::string> loki;  // a folder instead
};

struct ImportOptions {
  std::optional<std::string> file;  // - for stdin
  std::optional<std::string> loki;  // a folder instead
};

void define(Verb& verb, ExportOptions& options) {
  verb.value("FILE", "", &options.file, read_text, "the file to write; default -, which is stdout");
  verb.value("--loki", "DIR", &options.loki, read_text, "write the queue files of loki-mode there instead");
}

void define(Verb& verb, ImportOptions& options) {
  verb.value("FILE", "", &options.file, read_text, "a dump; - is stdin");
  verb.value("--loki", "DIR", &options.loki, read_text, "take waiting tasks from the queue files of loki-mode there");
  verb.check([&options]() -> Status {
    if (options.file.has_value() == options.loki.has_value()) return complaint("FILE and --loki", "give one of them");
    return {};
  });
}

constexpr std::size_t kBufferBytes = 1U << 16;
constexpr std::size_t kPieceBytes = 4U << 20;
constexpr int kPageTasks = 500;
constexpr Millis kProgressEvery{100};
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
    const MonoTime now = system_clock().mono();
    if (!err_.look().terminal || done < kFewTasks || (shown_ && now - shown_at_ < kProgressEvery)) return;
    shown_ = true;
    shown_at_ = now;
    const std::string of = total ? fmt::format(" of {} ({} %)", *total, done * 100 / *total) : "";
    err_.write(fmt::format("\r\x1b[K{} tasks{}", done, of));
  }

 private:
  Output& err_;
  bool shown_ = false;
  MonoTime shown_at_{};
};

// Lines into a file that has its name only when it is whole, or to stdout. A device or a pipe is written to, never
// replaced.
class DumpWriter {
 public:
  explicit DumpWriter(std::string name) : name_(std::move(name)) {}
  ~DumpWriter() {
    if (is_draft() && fd_.get() >= 0) ::unlink(written_.c_str());
  }
  DumpWriter(const DumpWriter&) = delete;
  DumpWriter& operator=(const DumpWriter&) = delete;

  [[nodiscard]] Status open() {
    if (to_stdout()) return {};
    struct stat target{};
    const bool is_there = ::stat(name_.c_str(), &target) == 0;
    if (!is_there || S_ISREG(target.st_mode)) written_ = name_ + ".part";
    fd_ = UniqueFd(::open(written_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
    return fd_.get() >= 0 ? Status() : Status(cannot("write", written_, errno));
  }
  [[nodiscard]] Status put(std::string_view text) {
    buffer_.append(text);
    return buffer_.size() >= kBufferBytes ? flush() : Status();
  }
  [[nodiscard]] Status close() {
    if (auto flushed = flush(); !flushed || !is_draft()) return flushed;
    if (::fsync(fd_.get()) != 0) return cannot("write", written_, errno);
    if (::rename(written_.c_str(), name_.c_str()) != 0) return cannot("write", name_, errno);
    written_ = name_;
    return {};
  }

 private:
  [[nodiscard]] bool to_stdout() const { return name_ == "-"; }
  [[nodiscard]] bool is_draft() const { return written_ != name_; }
  Status flush() {
    const int fd = to_stdout() ? STDOUT_FILENO : fd_.get();
    std::string_view rest = buffer_;
    while (!rest.empty()) {
      const ssize_t count = ::write(fd, rest.data(), rest.size());
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) return cannot("write", to_stdout() ? "stdout" : written_, errno);
      rest.remove_prefix(static_cast<std::size_t>(count));
    }
    buffer_.clear();
    return {};
  }

  const std::string name_;
  std::string written_ = name_;
  UniqueFd fd_;
  std::string buffer_;
};

class DumpReader {
 public:
  [[nodiscard]] Status open(const std::string& name) {
    name_ = name == "-" ? "stdin" : name;
    fd_ = UniqueFd(name == "-" ? ::dup(STDIN_FILENO) : ::open(name.c_str(), O_RDONLY | O_CLOEXEC));
    return fd_.get() >= 0 ? Status() : Status(cannot("read", name_, errno));
  }
  // Some bytes; none at the end.
  [[nodiscard]] Result<std::string> piece() {
    std::string bytes(kPieceBytes, '\0');
    std::size_t size = 0;
    while (size < bytes.size()) {
      const ssize_t count = ::read(fd_.get(), bytes.data() + size, bytes.size() - size);
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) return cannot("read", name_, errno);
      if (count == 0) break;
      size += static_cast<std::size_t>(count);
    }
    bytes.resize(size);
    return bytes;
  }

 private:
  std::string name_;
  UniqueFd fd_;
};

std::string sentence(std::string_view what, const DumpCounts& counts) {
  return fmt::format("{} {}, {} and {}", what, counted(counts.tasks, "task"), counted(counts.events, "event"),
                     counted(counts.gates, "gate"));
}

// Newest first.
template <class Visit>
Status each_task(TaskQueue& queue, const TaskFilter& filter, Visit visit) {
  std::optional<std::string> cursor;
  do {
    auto page = TRY(queue.list(filter, kPageTasks, cursor));
    for (Task& task : page.tasks) visit(std::move(task));
    cursor = std::move(page.cursor);
  } while (cursor);
  return {};
}

Result<DumpCounts> import_pieces(DumpReader& reader, Administration& store, Output& err) {
  const auto id = TRY(store.begin_import());
  ProgressLine progress(err);
  for (std::int64_t offset = 0;;) {
    const auto bytes = TRY(reader.piece());
    if (bytes.empty()) return store.finish_import(id);
    const auto counts = store.import_piece(id, offset, bytes);
    if (!counts) return counts;
    offset += static_cast<std::int64_t>(bytes.size());
    progress.show(counts->tasks, std::nullopt);
  }
}

// Those of the folder that an earlier import has taken.
Result<std::map<std::string, TaskId>> known_tasks(TaskQueue& queue, const LokiFolder& loki) {
  const auto ids = TRY(open_ids(loki));
  std::map<std::string, std::string> by_request;
  for (const std::string& id : ids) by_request.emplace(loki_request_id(id), id);
  std::map<std::string, TaskId> known;
  const Status read = each_task(queue, {.owner = std::string(kDefaultOwner)}, [&](const Task& task) {
    const auto found = task.request_id ? by_request.find(*task.request_id) : by_request.end();
    if (found != by_request.end()) known.emplace(found->second, task.id);
  });
  if (!read) return std::unexpected(read.error());
  return known;
}

int import_loki(const std::string& folder, Context& context) {
  const auto loki = read_loki(folder);
  if (!loki) return context.fail(loki.error());
  if (loki->files.empty()) {
    return context.fail({ErrorCode::kInvalidArgument,
                         fmt::format("{} has no queue files of loki-mode (pending.json, in-progress.json, …); they are "
                                     "usually in .loki/queue",
                                     folder),
                         {}});
  }
  const auto opened = open_chosen_store(context);
  if (!opened) return context.fail(opened.error());
  const auto known = known_tasks((*opened)->queue(), *loki);
  if (!known) return context.fail(known.error());
  const auto specs = specs_from_loki(*loki, *known);
  if (!specs) return context.fail(specs.error());
  const auto enqueued = specs->empty() ? std::vector<Enqueued>() : (*opened)->queue().enqueue(*specs);
  if (!enqueued) return context.fail(enqueued.error());
  // A producer of another owner does not see what it has by the default owner's name: its requests tell.
  const auto repeated = std::ranges::count(*enqueued, true, &Enqueued::deduplicated);
  const auto known_before = std::ssize(*known) + repeated;
  context.say(fmt::format("imported {}; {} {} there already", counted(std::ssize(*enqueued) - repeated, "task"),
                          known_before, known_before == 1 ? "was" : "were"));
  return kExitOk;
}

int export_loki(const std::string& folder, Context& context) {
  auto loki = std::filesystem::exists(folder) ? read_loki(folder) : Result<LokiFolder>(LokiFolder{});
  if (!loki) return context.fail(loki.error());
  const auto opened = open_chosen_store(context);
  if (!opened) return context.fail(opened.error());
  std::vector<Task> tasks;
  const Status read = each_task((*opened)->queue(), {}, [&](Task&& task) { tasks.push_back(std::move(task)); });
  if (!read) return context.fail(read.error());
  std::ranges::reverse(tasks);
  put_into_loki(*loki, tasks);
  if (auto written = write_loki(folder, *loki); !written) return context.fail(written.error());
  context.say(fmt::format("exported {}", counted(std::ssize(tasks), "task")));
  return kExitOk;
}

int run(const ExportOptions& options, Context& context) {
  if (options.loki) return export_loki(*options.loki, context);
  const auto opened = open_chosen_store(context);
  if (!opened) return context.fail(opened.error());
  DumpWriter writer(options.file);
  if (auto ready = writer.open(); !ready) return context.fail(ready.error());
  const auto counts = [&] {
    ProgressLine progress(context.err);
    return export_dump((*opened)->administration(),
                       {.text = [&](std::string_view lines) { return writer.put(lines); },
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
  const auto opened = open_chosen_store(context);
  if (!opened) return context.fail(opened.error());
  const auto counts = import_pieces(reader, (*opened)->administration(), context.err);
  if (!counts) return context.fail(counts.error());
  context.say(sentence("imported", *counts));
  return kExitOk;
}

}  // namespace

void add_export(Verbs& verbs) {
  verbs.add<ExportOptions>(
      {.name = "export",
       .summary = "Write everything in the store as lines of JSON",
       .footer =
           R"(Writes the policy, the gates, the tasks with their runs and output, and the events, oldest first. The file gets its
name only when it is complete. For an exact copy of a busy store, stop the work first: `drover gate close all`.

Examples:
  drover export backup.ndjson
  drover export | gzip > backup.ndjson.gz
  drover export --loki .loki/queue)"},
      define, run);
}

void add_import(Verbs& verbs) {
  verbs.add<ImportOptions>(
      {.name = "import",
       .summary = "Load a dump into an empty store, of the same kind or another",
       .footer =
           R"(Tasks that were running at the time of the export are handled as if their worker had been lost. The gate `all` is
closed until the import has finished.

Examples:
  drover --store redis://localhost import backup.ndjson
  zcat backup.ndjson.gz | drover import -
  drover import --loki .loki/queue)"},
      define, run);
}

}  // namespace drover::cli
