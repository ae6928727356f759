#include "core/policy.h"

namespace drover {
namespace {

const TypePolicy kDefaultType;

}  // namespace

const TypePolicy& Policy::type(std::string_view name) const {
  const auto found = types.find(name);
  return found == types.end() ? kDefaultType : found->second;
}

std::string Policy::queue_of(std::string_view type_name) const {
  return type(type_name).queue.value_or(std::string(type_name));
}

}  // namespace drover
