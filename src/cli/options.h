// What a command line asks for, as plain data: one struct per verb. parse.cc fills them; each verb's own file acts on
// one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/log.h"
#include "core/role.h"
#include "drover/task_queue.h"

namespace drover::cli {

enum class ColorChoice : std::uint8_t { kAuto, kAlways, kNever };

// What every verb takes.
struct CommonOptions {
  std::optional<std::string> store;       // a store URL
  std::optional<std::string> token_file;  // for a server
  ColorChoice color = ColorChoice::kAuto;
  std::optional<LogLevel> log_level;

  bool operator==(const CommonOptions&) const = default;
};

enum class Format : std::uint8_t {
  kAuto,    // for people on a terminal, tab-separated and without a header otherwise
  kJson,    // one value: an array where there may be several
  kNdjson,  // one JSON object a line
  kWide,    // a table with every column, nothing cut
  kName,    // ids or names alone, one a line
};

// One task, as flags say it. Values that are JSON are read and checked by the verb.
struct TaskArguments {
  TaskSpec spec;
  std::optional<std::string> payload;   // JSON, @file, or - for stdin
  std::optional<std::string> fallback;  // JSON

  bool operator==(const TaskArguments&) const = default;
};

// How a command waits for tasks to end.
struct WaitLimits {
  std::optional<Millis> timeout;  // unset: as long as it takes
  bool quiet = false;             // does not say what it waits for

  bool operator==(const WaitLimits&) const = default;
};

struct EnqueueOptions {
  TaskArguments task;
  std::optional<std::string> batch;  // a file, or - for stdin; then `task` is empty
  bool wait = false;
  WaitLimits limits;
  Format format = Format::kAuto;

  bool operator==(const EnqueueOptions&) const = default;
};

struct RunOptions {
  TaskArguments task;
  WaitLimits limits;
  Format format = Format::kAuto;

  bool operator==(const RunOptions&) const = default;
};

inline constexpr int kListLimitDefault = 100;

struct ListOptions {
  TaskFilter filter;
  int limit = kListLimitDefault;
  std::optional<std::string> cursor;
  Format format = Format::kAuto;
};

struct ShowOptions {
  TaskId id;
  bool runs = false;  // its runs instead of the task
  Format format = Format::kAuto;

  bool operator==(const ShowOptions&) const = default;
};

struct WaitOptions {
  TaskId id;
  WaitLimits limits;
  Format format = Format::kAuto;

  bool operator==(const WaitOptions&) const = default;
};

struct LogsOptions {
  TaskId id;
  std::optional<int> run;  // only this one
  bool follow = false;
  Format format = Format::kAuto;

  bool operator==(const LogsOptions&) const = default;
};

struct CancelOptions {
  TaskId id;
  std::string reason;
  bool dry_run = false;  // say what would end, and change nothing
  Format format = Format::kAuto;

  bool operator==(const CancelOptions&) const = default;
};

struct EditOptions {
  TaskId id;
  EditOrder order;                     // without its payload
  std::optional<std::string> payload;  // JSON, @file, or - for stdin
  std::vector<std::string> tags;       // none: they stay
  Format format = Format::kAuto;
};

struct RetryOptions {
  TaskId id;
  std::string reason;
  Format format = Format::kAuto;

  bool operator==(const RetryOptions&) const = default;
};

struct DlqListOptions {
  TaskFilter filter;
  bool tasks = false;  // one by one, not by kind
  int limit = kListLimitDefault;
  std::optional<std::string> cursor;
  Format format = Format::kAuto;
};

struct DlqShowOptions {
  std::variant<TaskId, std::string> what;  // a task, or the fingerprint of a kind
  Format format = Format::kAuto;

  bool operator==(const DlqShowOptions&) const = default;
};

// dlq retry, delete, wait and escalate.
struct DlqVerdictOptions {
  enum class What : std::uint8_t { kRetry, kDelete, kWait, kEscalate };

  What what = What::kRetry;
  std::vector<TaskId> ids;  // empty: those that match the filter
  TaskFilter filter;
  bool all = false;  // whatever the filter leaves open is meant
  bool yes = false;
  bool dry_run = false;
  std::string reason;
  std::optional<std::string> payload;  // kRetry: JSON, @file, or - for stdin
  std::optional<JsonText> patch;       // kRetry
  std::optional<Millis> wait_for;      // kWait: one of these
  std::optional<Time> wait_until;
  std::string to;  // kEscalate
  Format format = Format::kAuto;
};

struct EventsOptions {
  std::optional<std::int64_t> after;  // unset: from the first one, or, following, from now
  std::optional<int> limit;
  bool follow = false;
  Format format = Format::kAuto;

  bool operator==(const EventsOptions&) const = default;
};

struct WorkOptions {
  std::vector<std::string> types;
  std::vector<std::string> queues;
  std::optional<int> concurrency;
  bool until_empty = false;
  Millis lease{30'000};
  Millis heartbeat{5'000};
  std::vector<std::string> argv;  // what stands after --; empty: the runner profiles of drover.yaml

  bool operator==(const WorkOptions&) const = default;
};

struct ServeOptions {
  std::vector<std::string> listen;
  std::vector<std::string> hosts;
  std::optional<std::string> tls_certificate;  // a file; both or none
  std::optional<std::string> tls_key;
  bool insecure = false;                 // listen for other machines without TLS
  std::optional<std::string> audit_log;  // a file
  std::optional<int> rate;               // requests a second, of one token

  bool operator==(const ServeOptions&) const = default;
};

struct UpOptions {
  ServeOptions serve;

  bool operator==(const UpOptions&) const = default;
};

struct ProgressOptions {
  int percent = 0;
  std::string message;

  bool operator==(const ProgressOptions&) const = default;
};

struct FsckOptions {
  FsckMode mode = FsckMode::kCheck;
  Format format = Format::kAuto;

  bool operator==(const FsckOptions&) const = default;
};

struct ExportOptions {
  std::string file;                 // - for stdout
  std::optional<std::string> loki;  // a folder instead

  bool operator==(const ExportOptions&) const = default;
};

struct ImportOptions {
  std::optional<std::string> file;  // - for stdin
  std::optional<std::string> loki;  // a folder instead

  bool operator==(const ImportOptions&) const = default;
};

struct StoreOptions {
  enum class What : std::uint8_t { kShow, kAcceptRegression };

  What what = What::kShow;
  Format format = Format::kAuto;

  bool operator==(const StoreOptions&) const = default;
};

struct ConfigApplyOptions {
  std::string file;      // - for stdin
  bool dry_run = false;  // say what would change, and change nothing
  Format format = Format::kAuto;

  bool operator==(const ConfigApplyOptions&) const = default;
};

struct ConfigShowOptions {
  Format format = Format::kAuto;

  bool operator==(const ConfigShowOptions&) const = default;
};

struct TypeListOptions {
  Format format = Format::kAuto;

  bool operator==(const TypeListOptions&) const = default;
};

struct TypeShowOptions {
  std::string name;
  Format format = Format::kAuto;

  bool operator==(const TypeShowOptions&) const = default;
};

struct TrustOptions {
  std::string file;
  Format format = Format::kAuto;

  bool operator==(const TrustOptions&) const = default;
};

struct WorkerListOptions {
  Format format = Format::kAuto;

  bool operator==(const WorkerListOptions&) const = default;
};

struct WorkerDrainOptions {
  std::string id;
  bool all = false;
  bool wait = false;
  std::string reason;
  Format format = Format::kAuto;

  bool operator==(const WorkerDrainOptions&) const = default;
};

struct StatsOptions {
  Format format = Format::kAuto;

  bool operator==(const StatsOptions&) const = default;
};

struct AlertsOptions {
  Format format = Format::kAuto;

  bool operator==(const AlertsOptions&) const = default;
};

struct DoctorOptions {
  Format format = Format::kAuto;

  bool operator==(const DoctorOptions&) const = default;
};

struct TopOptions {
  bool once = false;
  Millis interval{1'000};

  bool operator==(const TopOptions&) const = default;
};

struct ExplainOptions {
  TaskId id;
  Format format = Format::kAuto;

  bool operator==(const ExplainOptions&) const = default;
};

struct GateListOptions {
  Format format = Format::kAuto;

  bool operator==(const GateListOptions&) const = default;
};

// gate open, close and limit; queue pause and resume.
struct GateSetOptions {
  enum class What : std::uint8_t { kOpen, kClose, kLimit };

  std::string gate;
  What what = What::kOpen;
  std::optional<Millis> close_for;  // kClose: until opened, unless one of these is set
  std::optional<Time> close_until;
  std::optional<int> permits;  // kLimit; unset: no limit by hand
  std::string reason;
  Format format = Format::kAuto;

  bool operator==(const GateSetOptions&) const = default;
};

struct QueueListOptions {
  Format format = Format::kAuto;

  bool operator==(const QueueListOptions&) const = default;
};

struct TokenCreateOptions {
  Role role = Role::kViewer;
  std::optional<std::string> owner;
  std::vector<std::string> queues;
  std::optional<Millis> expires;  // from now on
  std::string note;
  Format format = Format::kAuto;

  bool operator==(const TokenCreateOptions&) const = default;
};

struct TokenListOptions {
  Format format = Format::kAuto;

  bool operator==(const TokenListOptions&) const = default;
};

struct TokenRevokeOptions {
  std::string id;
  Format format = Format::kAuto;

  bool operator==(const TokenRevokeOptions&) const = default;
};

struct AuditVerifyOptions {
  std::string file;
  Format format = Format::kAuto;

  bool operator==(const AuditVerifyOptions&) const = default;
};

enum class Shell : std::uint8_t { kBash, kZsh, kFish };

struct CompletionOptions {
  Shell shell = Shell::kBash;

  bool operator==(const CompletionOptions&) const = default;
};

// What completion asks for by name; the store knows it, except for states and classes of errors.
enum class StoreWord : std::uint8_t {
  kTask,
  kType,
  kQueue,
  kOwner,
  kTag,
  kGate,
  kWorker,
  kToken,
  kState,
  kClass,
  kFingerprint,
};

struct CompleteOptions {
  StoreWord what = StoreWord::kTask;

  bool operator==(const CompleteOptions&) const = default;
};

enum class HelpFormat : std::uint8_t { kText, kMan, kMarkdown };

// --help and `help`: the path of the command that it is about, empty for drover itself.
struct HelpOptions {
  std::vector<std::string> path;
  HelpFormat format = HelpFormat::kText;

  bool operator==(const HelpOptions&) const = default;
};

struct VersionOptions {
  bool operator==(const VersionOptions&) const = default;
};

using Command =
    std::variant<EnqueueOptions, RunOptions, ListOptions, ShowOptions, WaitOptions, LogsOptions, CancelOptions,
                 EditOptions, RetryOptions, DlqListOptions, DlqShowOptions, DlqVerdictOptions, EventsOptions,
                 WorkOptions, UpOptions, ServeOptions, ProgressOptions, FsckOptions, ExportOptions, ImportOptions,
                 StoreOptions, ConfigApplyOptions, ConfigShowOptions, TypeListOptions, TypeShowOptions, TrustOptions,
                 WorkerListOptions, WorkerDrainOptions, StatsOptions, AlertsOptions, DoctorOptions, TopOptions,
                 ExplainOptions, GateListOptions, GateSetOptions, QueueListOptions, TokenCreateOptions,
                 TokenListOptions, TokenRevokeOptions, AuditVerifyOptions, CompletionOptions, CompleteOptions,
                 HelpOptions, VersionOptions>;

struct Invocation {
  CommonOptions common;
  Command command;
};

}  // namespace drover::cli
