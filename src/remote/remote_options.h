// How a Drover server is reached.
#pragma once

#include <string>

#include "drover/time.h"

namespace drover {

struct RemoteOptions {
  std::string url;         // of a server, or of several in front of one store: see server_url.h
  std::string token{};     // shown with every request
  Millis timeout{10'000};  // of a call that does not wait
};

}  // namespace drover
