// What went wrong on the wire, as a response would say it.
#pragma once

#include <string>

namespace drover {

struct HttpError {
  int status = 400;
  std::string message;
};

}  // namespace drover
