// Fingerprints: which failures are of one kind. Computed from the error whenever it is asked for, never stored, so that
// a better pattern regroups what is there already.
#pragma once

#include <string>
#include <string_view>

#include "drover/task.h"

namespace drover {

inline constexpr std::size_t kPatternBytesMax = 400;
inline constexpr std::size_t kFingerprintDigits = 12;

// The message without what differs from one failure to the next: numbers, ids, times, paths, URLs, hosts and quoted
// words become <n>, <id>, <time>, <path>, <url>, <host> and <quoted>. What tells kinds apart stays: the words of JSON,
// HTTP statuses, exit codes and error codes. White space is folded, colours go, long ones are cut between words. Always
// UTF-8. The pattern of a pattern is the pattern itself.
[[nodiscard]] std::string pattern_of(std::string_view message);

// Lower-case hex digits over the class and the pattern of the message.
[[nodiscard]] std::string fingerprint(const TaskError& error);
[[nodiscard]] bool is_fingerprint(std::string_view text);

}  // namespace drover
