#include "cli/document_diff.h"

#include <map>

namespace drover::cli {
namespace {

// The leaves of a document by path; an empty object is a leaf.
void collect(const std::string& path, const json::Value& value, std::map<std::string, std::string>& leaves) {
  const json::Value::Object* object = value.as_object();
  if (object == nullptr || (object->empty() && !path.empty())) {
    leaves[path] = json::dump(value);
    return;
  }
  for (const auto& [key, member] : *object) collect(path.empty() ? key : path + "." + key, member, leaves);
}

std::map<std::string, std::string> leaves_of(const json::Value& value) {
  std::map<std::string, std::string> leaves;
  collect("", value, leaves);
  return leaves;
}

}  // namespace

std::vector<Difference> differences(const json::Value& before, const json::Value& after) {
  std::map<std::string, Difference> found;
  for (auto& [path, text] : leaves_of(before)) found[path] = {path, text, ""};
  for (auto& [path, text] : leaves_of(after)) {
    Difference& one = found.try_emplace(path, Difference{path, "", ""}).first->second;
    one.after = text;
  }
  std::vector<Difference> answer;
  for (auto& [path, one] : found) {
    if (one.before != one.after) answer.push_back(std::move(one));
  }
  return answer;
}

}  // namespace drover::cli
