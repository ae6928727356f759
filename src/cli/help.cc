// The help pages.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/check.h"
#include "cli/command_spec.h"
#include "cli/display_text.h"

namespace drover::cli {
namespace {

constexpr std::size_t kIndent = 2;
constexpr std::size_t kLeftMax = 30;  // wider entries have their help on the next line

struct Entry {
  std::string left;
  std::string help;
};

void append_entries(std::string& page, std::string_view heading, const std::vector<Entry>& entries, std::size_t width) {
  if (entries.empty()) return;
  std::size_t left_width = 0;
  for (const Entry& entry : entries) left_width = std::max(left_width, std::min(entry.left.size(), kLeftMax));
  const std::size_t column = kIndent + left_width + 2;
  page.append("\n").append(heading).append(":\n");
  for (const Entry& entry : entries) {
    page.append(kIndent, ' ').append(entry.left);
    if (entry.left.size() > left_width) {
      page.append("\n").append(column, ' ');
    } else {
      page.append(left_width - entry.left.size() + 2, ' ');
    }
    page += wrapped(entry.help, column, width) + '\n';
  }
}

std::string flag_left(const FlagSpec& flag) {
  std::string left = flag.short_name.empty() ? "    " : flag.short_name + ", ";
  left += flag.long_name;
  if (!flag.value.empty()) left += " " + flag.value;
  if (flag.repeatable) left += " ...";
  return left;
}

std::vector<Entry> flag_entries(const CommandSpec& command, bool common) {
  std::vector<Entry> entries;
  for (const FlagSpec& flag : command.flags) {
    if (flag.common == common) entries.push_back({flag_left(flag), flag.help});
  }
  return entries;
}

std::string usage_line(const CommandSpec& command, std::string_view path) {
  std::string usage = fmt::format("Usage: {}", path);
  if (!command.commands.empty()) return usage + " COMMAND [OPTIONS]";
  for (const PositionalSpec& positional : command.positionals) {
    usage += positional.required ? " " + positional.name : fmt::format(" [{}]", positional.name);
  }
  usage += " [OPTIONS]";
  if (command.takes_command) usage += " [-- ARGV...]";
  return usage;
}

// Prose is broken anew; lines that are indented stay as they are.
std::string reflowed(std::string_view text, std::size_t width) {
  std::string page;
  std::string paragraph;
  const auto end_paragraph = [&] {
    if (!paragraph.empty()) page += wrapped(paragraph, 0, width) + "\n";
    paragraph.clear();
  };
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.empty() || line.front() == ' ') {
      end_paragraph();
      page.append(line).append("\n");
    } else {
      paragraph.append(paragraph.empty() ? "" : " ").append(line);
    }
  }
  end_paragraph();
  return page;
}

void append_commands(std::string& page, const CommandSpec& command, std::size_t width) {
  std::vector<std::string> groups;
  for (const CommandSpec& verb : command.commands) {
    if (std::ranges::find(groups, verb.group) == groups.end()) groups.push_back(verb.group);
  }
  for (const std::string& group : groups) {
    std::vector<Entry> entries;
    for (const CommandSpec& verb : command.commands) {
      if (verb.group == group) entries.push_back({verb.name, verb.summary});
    }
    append_entries(page, group.empty() ? "Commands" : group, entries, width);
  }
}

}  // namespace

std::vector<std::string_view> choices_of(std::string_view value) {
  std::vector<std::string_view> choices;
  while (!value.empty()) {
    const std::size_t end = std::min(value.find('|'), value.size());
    const std::string_view word = value.substr(0, end);
    const bool is_word = !word.empty() && std::ranges::all_of(word, [](char c) { return c >= 'a' && c <= 'z'; });
    if (!is_word) return {};
    choices.push_back(word);
    value.remove_prefix(std::min(end + 1, value.size()));
  }
  return choices.size() > 1 ? choices : std::vector<std::string_view>{};
}

std::string_view store_word_of(std::string_view name) {
  static constexpr std::array kWords = std::to_array<std::pair<std::string_view, std::string_view>>({
      {"ID", "task"},
      {"--after", "task"},
      {"--spawner", "task"},
      {"--task", "task"},
      {"--worker", "worker"},
      {"TYPE", "type"},
      {"--type", "type"},
      {"QUEUE", "queue"},
      {"--queue", "queue"},
      {"--owner", "owner"},
      {"--tag", "tag"},
      {"GATE", "gate"},
      {"WORKER", "worker"},
      {"TOKEN", "token"},
      {"--state", "state"},
      {"--class", "class"},
      {"--fingerprint", "fingerprint"},
      {"ID|FINGERPRINT", "fingerprint"},
  });
  const auto found = std::ranges::find(kWords, name, &std::pair<std::string_view, std::string_view>::first);
  return found == kWords.end() ? std::string_view{} : found->second;
}

std::string render_help(const CommandSpec& root, const std::vector<std::string>& path, int width) {
  const CommandSpec* command = &root;
  std::string display = root.name;
  for (const std::string& name : path) {
    const auto found = std::ranges::find(command->commands, name, &CommandSpec::name);
    CHECK_MSG(found != command->commands.end(), name);
    command = &*found;
    display.append(" ").append(name);
  }
  const auto columns = static_cast<std::size_t>(std::min(width, 120));
  std::string page = command->summary;
  page.append("\n\n").append(usage_line(*command, display)).append("\n");
  append_commands(page, *command, columns);
  std::vector<Entry> positionals;
  for (const PositionalSpec& positional : command->positionals)
    positionals.push_back({positional.name, positional.help});
  append_entries(page, "Arguments", positionals, columns);
  append_entries(page, "Options", flag_entries(*command, false), columns);
  append_entries(page, "Common options", flag_entries(*command, true), columns);
  if (!command->footer.empty()) page.append("\n").append(reflowed(command->footer, columns));
  return page;
}

}  // namespace drover::cli
