// The verbs: each in the file of its name. They return the process's exit code.
#pragma once

#include "cli/context.h"
#include "cli/options.h"

namespace drover::cli {

int run(const EnqueueOptions& options, Context& context);
int run(const RunOptions& options, Context& context);
int run(const ListOptions& options, Context& context);
int run(const ShowOptions& options, Context& context);
int run(const WaitOptions& options, Context& context);
int run(const LogsOptions& options, Context& context);
int run(const CancelOptions& options, Context& context);
int run(const EditOptions& options, Context& context);
int run(const RetryOptions& options, Context& context);
int run(const DlqListOptions& options, Context& context);
int run(const DlqShowOptions& options, Context& context);
int run(const DlqVerdictOptions& options, Context& context);
int run(const EventsOptions& options, Context& context);
int run(const WorkOptions& options, Context& context);
int run(const UpOptions& options, Context& context);
int run(const ServeOptions& options, Context& context);
int run(const ProgressOptions& options, Context& context);
int run(const FsckOptions& options, Context& context);
int run(const ExportOptions& options, Context& context);
int run(const ImportOptions& options, Context& context);
int run(const StoreOptions& options, Context& context);
int run(const ConfigApplyOptions& options, Context& context);
int run(const ConfigShowOptions& options, Context& context);
int run(const TypeListOptions& options, Context& context);
int run(const TypeShowOptions& options, Context& context);
int run(const TrustOptions& options, Context& context);
int run(const WorkerListOptions& options, Context& context);
int run(const WorkerDrainOptions& options, Context& context);
int run(const StatsOptions& options, Context& context);
int run(const AlertsOptions& options, Context& context);
int run(const DoctorOptions& options, Context& context);
int run(const TopOptions& options, Context& context);
int run(const ExplainOptions& options, Context& context);
int run(const GateListOptions& options, Context& context);
int run(const GateSetOptions& options, Context& context);
int run(const QueueListOptions& options, Context& context);
int run(const TokenCreateOptions& options, Context& context);
int run(const TokenListOptions& options, Context& context);
int run(const TokenRevokeOptions& options, Context& context);
int run(const AuditVerifyOptions& options, Context& context);
int run(const CompletionOptions& options, Context& context);
int run(const CompleteOptions& options, Context& context);
int run(const HelpOptions& options, Context& context);
int run(const VersionOptions& options, Context& context);

}  // namespace drover::cli
