// What an error reply of Redis means to a caller, decided by its first word, in one table.
#pragma once

#include <optional>
#include <string_view>

#include "drover/error.h"
#include "store/redis/reply.h"

namespace drover::redis {

// The failure of a reply that means the same whatever was called: Redis is loading, full, read-only, asks for a
// password. Nothing for every other reply, among them errors that only the caller can interpret (ERR, NOGROUP,
// WRONGTYPE, the codes of our own functions).
[[nodiscard]] std::optional<Error> failure_of(const Reply& reply);
// Of an error reply: failure_of, else kInternal with what Redis said.
[[nodiscard]] Error error_of(const Reply& reply);
// The server is no longer the one to talk to: connect again.
[[nodiscard]] bool ends_connection(const Reply& reply);
// FCALL of a function that is in no loaded library, or in one that is older than the store requires (1_call.lua).
[[nodiscard]] bool is_function_missing(const Reply& reply);
// A function that raised an error, and left its work half done: it came upon keys that are not as we wrote them.
[[nodiscard]] bool is_function_broken_off(const Reply& reply);

}  // namespace drover::redis
