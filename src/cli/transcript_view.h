// A line of an agent's transcript, for people.
#pragma once

#include <string>

#include "cli/output.h"
#include "core/transcript.h"

namespace drover::cli {

// One line or several, each with its end; empty for what people need not see.
[[nodiscard]] std::string transcript_text(const TranscriptLine& line, const Look& look);

}  // namespace drover::cli
