// How a Drover server is reached.
#pragma once

#include <memory>
#include <string>

#include "core/mark_book.h"
#include "drover/time.h"

namespace drover {

struct RemoteOptions {
  std::string url;         // of a server, or of several in front of one store: see server_url.h
  std::string token{};     // shown with every request
  Millis timeout{10'000};  // of a call that does not wait
  // Where it is kept how far the store was seen to be; null: nowhere.
  std::shared_ptr<MarkBook> marks{};
};

}  // namespace drover
