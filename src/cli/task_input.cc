#include "cli/task_input.h"

#include <fmt/format.h>

#include <charconv>
#include <optional>

#include "base/json.h"
#include "base/try.h"
#include "cli/files.h"
#include "core/task_json.h"
#include "core/trace.h"

namespace drover::cli {
namespace {

// The largest that a policy may allow. The policy in force is the queue's to apply.
constexpr ReadLimit kPayloadLimit{256 << 20, ErrorCode::kPayloadTooLarge};
constexpr ReadLimit kBatchLimit{256 << 20, ErrorCode::kLimitExceeded};

Result<JsonText> compact_json(std::string_view what, std::string_view text) {
  auto compact = json::compact(text);
  if (!compact) return fail(compact.error().code, fmt::format("{}: {}", what, compact.error().message));
  return compact;
}

bool is_blank(std::string_view line) {
  return line.find_first_not_of(" \t\r") == std::string_view::npos;
}

std::string at(const std::string& name, std::size_t line, std::string_view message) {
  return fmt::format("{}:{}: {}", name, line, message);
}

// The number behind `word`, which is taken off the text with it.
std::optional<std::size_t> take_number(std::string_view& text, std::string_view word) {
  std::size_t number = 0;
  if (!text.starts_with(word)) return std::nullopt;
  const auto [end, error] = std::from_chars(text.data() + word.size(), text.data() + text.size(), number);
  if (error != std::errc{}) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return number;
}

// A JSON error says "line 2, column 13: what"; of a file, as compilers do: "FILE:2:13: what". `first` is the number of
// the text's first line in the file.
std::string at_place(const std::string& name, std::size_t first, std::string_view message) {
  std::string_view rest = message;
  const auto line = take_number(rest, "line ");
  const auto column = take_number(rest, ", column ");
  if (!line || !column) return at(name, first, message);
  return fmt::format("{}:{}:{}{}", name, first + *line - 1, *column, rest);
}

}  // namespace

void continue_own_trace(const Environment& environment, std::span<TaskSpec> tasks) {
  if (const std::string* traceparent = environment.find("TRACEPARENT")) continue_trace(*traceparent, tasks);
}

Result<JsonText> read_payload(const std::string& argument) {
  if (argument != "-" && !argument.starts_with('@')) return compact_json("--payload", argument);
  const std::string name = argument == "-" ? argument : argument.substr(1);
  const auto text = TRY(read_input(name, kPayloadLimit));
  auto compact = json::compact(text);
  if (!compact) return fail(compact.error().code, at_place(name == "-" ? "stdin" : name, 1, compact.error().message));
  return compact;
}

// KEY=TEXT
Result<JsonText> read_bootstrap(const std::string& argument) {
  const std::size_t equals = argument.find('=');
  if (equals == std::string::npos) return fail(ErrorCode::kInvalidArgument, "--bootstrap: expected KEY=TEXT");
  json::Writer out;
  out.begin_object().key("key").string(argument.substr(0, equals)).key("text").string(argument.substr(equals + 1));
  out.end_object();
  return std::move(out).take();
}

Result<TaskSpec> read_task(const TaskArguments& arguments) {
  TaskSpec spec = arguments.spec;
  if (arguments.payload) {
    spec.payload = TRY(read_payload(*arguments.payload));
  }
  if (arguments.fallback) {
    spec.fallback_result = TRY(compact_json("--fallback", *arguments.fallback));
  }
  if (arguments.bootstrap) spec.bootstrap = TRY(read_bootstrap(*arguments.bootstrap));
  return spec;
}

Result<Batch> parse_batch(std::string_view text, const std::string& name) {
  Batch batch{.name = name};
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    if (is_blank(line)) continue;
    auto spec = parse_task_spec(line);
    if (!spec) return fail(spec.error().code, at_place(name, number, spec.error().message));
    batch.tasks.push_back(*std::move(spec));
    batch.lines.push_back(number);
  }
  if (batch.tasks.empty()) return fail(ErrorCode::kInvalidArgument, fmt::format("{} holds no task", name));
  return batch;
}

Result<Batch> read_batch(const std::string& file) {
  const auto text = TRY(read_input(file, kBatchLimit));
  return parse_batch(text, file == "-" ? "stdin" : file);
}

Error at_line(const Batch& batch, Error error) {
  constexpr std::string_view kPrefix = "task ";
  const std::string_view message = error.message;
  std::size_t number = 1;
  std::string_view rest = message;
  if (message.starts_with(kPrefix)) {
    const char* const end_of_message = message.data() + message.size();
    const auto [end, failure] = std::from_chars(message.data() + kPrefix.size(), end_of_message, number);
    const std::string_view after(end, static_cast<std::size_t>(end_of_message - end));
    if (failure == std::errc{} && after.starts_with(": ")) rest = after.substr(2);
  }
  const bool one_task = batch.tasks.size() == 1;
  if ((rest.size() == message.size() && !one_task) || number < 1 || number > batch.lines.size()) return error;
  error.message = at(batch.name, batch.lines[number - 1], rest);
  return error;
}

}  // namespace drover::cli
