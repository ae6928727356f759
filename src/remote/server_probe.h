// What a client can find out about one server, for those who look for what is wrong.
#pragma once

#include <string>
#include <vector>

#include "remote/remote_options.h"
#include "remote/server_url.h"
#include "wire/introduction.h"

namespace drover {

// Why the server cannot do its work just now; empty if it can. No token is needed.
[[nodiscard]] Result<std::vector<std::string>> ask_readiness(const ServerAddress& address, Millis timeout);
// Who both are. kUnauthorised: the server does not know the token.
[[nodiscard]] Result<Introduction> ask_introduction(const RemoteOptions& options);

}  // namespace drover
