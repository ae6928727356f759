#include <string>

struct Task {
  const std::string& type() const;
};

std::size_t length(const Task& task) {
  const std::string type = task.type();  // flagged
  return type.size();
}
