// How an agent speaks to its task's door: plain HTTP/1.1 over the Unix socket of DROVER_URL.
#pragma once

#include <string>

namespace agentsim {

struct Answer {
  int status = 0;  // 0: nobody answered
  std::string body;
};

[[nodiscard]] Answer ask_door(const std::string& method, const std::string& target, const std::string& body);

}  // namespace agentsim
