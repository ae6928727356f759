#include "cli/environment.h"

#include <unistd.h>

namespace drover::cli {

Environment Environment::of_process() {
  Variables variables;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const std::size_t equals = text.find('=');
    if (equals != std::string_view::npos) variables.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  return Environment(std::move(variables));
}

const std::string* Environment::find(std::string_view name) const {
  const auto found = variables_.find(name);
  return found == variables_.end() || found->second.empty() ? nullptr : &found->second;
}

}  // namespace drover::cli
