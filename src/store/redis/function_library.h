// The library of functions that a Redis must have loaded, kept at a version that this program can work with.
//
// The library's text begins with "#!lua name=NAME" and registers a function NAME_version, without keys and flagged
// no-writes, that answers "MAJOR.MINOR". A new minor version only adds; programs of another major version cannot share
// a server.
#pragma once

#include <compare>
#include <string>
#include <string_view>

#include "drover/error.h"
#include "store/redis/connection.h"

namespace drover::redis {

struct LibraryVersion {
  int major = 0;
  int minor = 0;

  auto operator<=>(const LibraryVersion&) const = default;
};
[[nodiscard]] std::string to_string(LibraryVersion version);

// Loads `text`, whose version is `ours`, unless the server has it or a later minor version. Refused with kSchemaTooNew:
// a newer major version is loaded, and stays; or ours would have to be loaded, and the store under `key_prefix`
// requires a newer one (`library` in its `seq`), because that has written there.
[[nodiscard]] Status ensure_library(Connection& connection, const std::string& key_prefix, std::string_view text,
                                    LibraryVersion ours, const Patience& patience);

}  // namespace drover::redis
