// A type of tasks as the policy in force has it, with the defaults filled in.
#pragma once

#include <string>
#include <vector>

#include "cli/output.h"
#include "cli/table.h"
#include "core/policy.h"

namespace drover::cli {

struct TypeView {
  std::string name;
  Task task;  // as one without options would be enqueued at the beginning of time
  TypePolicy policy;
};

// Of any name, for those that the policy does not name have the defaults; kUnknownType if its types are closed.
[[nodiscard]] Result<TypeView> view_type(const std::string& name, const Policy& policy);

// "type", and then the fields of types.NAME of drover.yaml, as they could stand there.
[[nodiscard]] std::string to_json(const TypeView& type);
[[nodiscard]] Table type_table(const std::vector<TypeView>& types);
[[nodiscard]] std::string type_page(const TypeView& type, const Look& look);

}  // namespace drover::cli
