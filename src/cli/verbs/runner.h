// What the commands of drover runner share.
#pragma once

#include <string>

#include "cli/verb.h"
#include "core/usage.h"

namespace drover::cli {

// "1000 in, 5000 cached, …", and "$0.02" or "not reported".
[[nodiscard]] std::string tokens_text(const Usage& usage);
[[nodiscard]] std::string cost_text(const Usage& usage);

void add_runner_test(Verbs& runner);

}  // namespace drover::cli
