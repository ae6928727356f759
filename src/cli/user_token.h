// The token that `drover up` and `drover dashboard` make for their user: one for each store, in a file that nobody else
// can read.
#pragma once

#include <filesystem>
#include <string>

#include "cli/environment.h"
#include "engine/tokens.h"

namespace drover::cli {

struct UserToken {
  std::filesystem::path file;
  std::string id;
};

// A token of role admin for this store, in a file of the user's state folder. One that is there and still good is kept,
// so that programs which use it outlive the server.
[[nodiscard]] Result<UserToken> keep_user_token(TokenBook& tokens, const std::string& store_url,
                                                const Environment& environment);

}  // namespace drover::cli
