// Administration over HTTP to a Drover server: the same verbs, the same answers, the same errors.
#pragma once

#include <memory>

#include "core/administration.h"
#include "remote/remote_options.h"

namespace drover {

// kInvalidArgument: this is no such URL. Nothing is asked of the server yet.
[[nodiscard]] Result<std::unique_ptr<Administration>> open_remote_administration(RemoteOptions options);

}  // namespace drover
