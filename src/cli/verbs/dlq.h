// What the commands of drover dlq share.
#pragma once

#include "cli/verb.h"

namespace drover::cli {

// Which dead letters; nothing but failed tasks matches.
void define_dlq_filter(Verb& verb, TaskFilter* filter);

// retry, delete, wait and escalate.
void add_dlq_verdicts(Verbs& dlq);

}  // namespace drover::cli
