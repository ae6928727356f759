// Runs git: an environment made from nothing, our settings over those of the repository, and no hooks, filters,
// monitors, helpers or networks.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "drover/error.h"

namespace drover::workspace {

struct GitOutput {
  int exit_code = 0;
  std::string out;
  std::string complaint;  // the end of what it said on stderr, on one line
};

// git in one git directory, with or without a work tree.
class Git {
 public:
  using Arguments = std::vector<std::string>;

  explicit Git(std::string git_dir, std::string work_tree = {})
      : git_dir_(std::move(git_dir)), work_tree_(std::move(work_tree)) {}
  // git finds the git directory of `folder` by itself, and looks nowhere else.
  [[nodiscard]] static Git discovering(const std::string& folder);

  // git and all that it starts keep this descriptor, which is a lock, open.
  Git& holding(int fd);
  // What is written is on the disk when git ends.
  Git& durably();

  // Its output. kInternal, with git's complaint, if it ends with anything but 0.
  [[nodiscard]] Result<std::string> run(const Arguments& arguments, std::string_view input = {}) const;
  // The same without the newline at the end: one name, one number.
  [[nodiscard]] Result<std::string> word(const Arguments& arguments, std::string_view input = {}) const;
  // For calls whose exit code is an answer.
  [[nodiscard]] Result<GitOutput> ask(const Arguments& arguments, std::string_view input = {}) const;

  [[nodiscard]] const std::string& git_dir() const { return git_dir_; }

 private:
  Git() = default;
  [[nodiscard]] std::vector<std::string> environment() const;
  [[nodiscard]] std::vector<std::string> command_line(const Arguments& arguments) const;

  std::string git_dir_;
  std::string work_tree_;
  std::string discover_in_;
  bool durable_ = false;
  std::vector<int> held_;
};

}  // namespace drover::workspace
