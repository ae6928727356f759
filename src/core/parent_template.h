// {{parents.REF.result.PATH}} in a prompt or in the strings of a payload: what a parent produced is put in its place.
//
// REF is the parent's ref, or its id. PATH goes into the result: keys of objects and indexes of arrays, with dots
// between; without one the whole result is meant. A string is put in as it is, everything else as JSON. What is put in
// is not looked at again, and other text in braces stays as it is. Pure.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "drover/error.h"
#include "drover/task.h"

namespace drover {

// The result of the parent with this ref or id; the error says why there is none.
using ParentLookup = std::function<Result<JsonText>(std::string_view ref_or_id)>;

// Whether there is anything to fill in.
[[nodiscard]] bool has_parent_template(std::string_view text);
// kInvalidPayload names the template that cannot be filled in; also when the text would have more than bytes_max.
[[nodiscard]] Result<std::string> fill_text(std::string_view text, const ParentLookup& lookup, std::size_t bytes_max);
// The same in every string of a JSON document; keys are left alone.
[[nodiscard]] Result<JsonText> fill_json(const JsonText& document, const ParentLookup& lookup, std::size_t bytes_max);

}  // namespace drover
