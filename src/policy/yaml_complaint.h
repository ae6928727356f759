// What is wrong with a text that is not YAML, in words for whoever wrote it.
#pragma once

#include <yaml-cpp/yaml.h>

#include <string>
#include <string_view>

namespace drover {

[[nodiscard]] std::string yaml_complaint(std::string_view text, const YAML::Exception& problem);

}  // namespace drover
