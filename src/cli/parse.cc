#include "cli/parse.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <utility>

#include "base/text.h"
#include "base/try.h"
#include "cli/verbs/verbs.h"

namespace drover::cli {
namespace {

constexpr std::string_view kCommonGroup = "Common options";
constexpr std::string_view kSummary = "A durable task queue for fleets of AI agents.";
constexpr std::string_view kFooter =
    R"(Examples:
  drover enqueue greet --payload '{"name": "Ada"}'
  drover work --type greet --until-empty -- cat
  drover list

Exit codes:
  0 ok  1 error  2 usage  4 not authorised  5 not found  6 conflict  7 store unreachable
  10 task failed  11 task cancelled  124 wait timed out

Durations are written 500ms, 30s, 5m, 2h, 7d or 1h30m. Data goes to stdout, messages to stderr.
`drover help COMMAND` explains one command.)";

// Adds the same options to drover itself and to every verb, so that they may stand before or after it.
void add_common(CLI::App& app, CommonOptions* common) {
  Verb::Definition of_all;
  Verb verb(&app, &of_all);
  verb.value("--store", "URL", &common->store, read_text,
             "sqlite:PATH, memory:, redis://HOST or http://HOST; default: DROVER_STORE, drover.yaml, .drover/ "
             "or your state folder");
  verb.value("--token-file", "FILE", &common->token_file, read_text,
             "a file with your token for a server; default: DROVER_TOKEN");
  verb.choice("--color", "auto|always|never", &common->color, "colours on a terminal");
  verb.value("--log-level", "debug|info|warn|error|off", &common->log_level, read_log_level, "how much Drover logs");
  app.get_help_ptr()->description("show this help");
  for (CLI::Option* option : app.get_options()) option->group(std::string(kCommonGroup));
}

// ---- the grammar

// The verbs below drover itself, or below a family.
class VerbsBelow final : public Verbs {
 public:
  VerbsBelow(CLI::App& parent, CommonOptions* common, std::map<const CLI::App*, Verb::Definition>* definitions)
      : parent_(parent), common_(common), definitions_(definitions) {}

  // The verbs that follow are under this heading in help.
  VerbsBelow& under(std::string_view heading) {
    heading_ = heading;
    return *this;
  }

  Verbs& family(const VerbText& text) override {
    CLI::App& family = add_app(text);
    family.require_subcommand(0, 1);
    families_.push_back(std::make_unique<VerbsBelow>(family, common_, definitions_));
    return *families_.back();
  }

 private:
  Verb add_verb(const VerbText& text, std::function<int(Context&)> run) override {
    CLI::App& app = add_app(text);
    Verb::Definition& definition = (*definitions_)[&app];
    definition.run = std::move(run);
    return {&app, &definition};
  }

  CLI::App& add_app(const VerbText& text) {
    CLI::App* app = parent_.add_subcommand(text.name, text.summary);
    app->group(heading_)->footer(text.footer)->allow_extras();
    add_common(*app, common_);
    return *app;
  }

  CLI::App& parent_;
  CommonOptions* common_;
  std::map<const CLI::App*, Verb::Definition>* definitions_;
  std::string heading_;
  std::vector<std::unique_ptr<VerbsBelow>> families_;
};

class Grammar {
 public:
  Grammar();

  std::expected<Invocation, UsageError> parse(std::span<const std::string> arguments);
  [[nodiscard]] CommandSpec describe() const { return describe(root_); }

 private:
  [[nodiscard]] const CLI::App* chosen() const;
  [[nodiscard]] std::optional<UsageError> complaint_about_extras() const;
  [[nodiscard]] std::expected<Invocation, UsageError> finish();
  [[nodiscard]] CommandSpec describe(const CLI::App& app) const;

  CLI::App root_;
  CommonOptions common_;
  bool version_ = false;
  std::vector<std::string> after_dashes_;
  std::map<const CLI::App*, Verb::Definition> definitions_;
  VerbsBelow verbs_;
};

Grammar::Grammar() : root_(std::string(kSummary), "drover"), verbs_(root_, &common_, &definitions_) {
  root_.require_subcommand(0, 1)->allow_extras()->footer(std::string(kFooter));
  add_common(root_, &common_);
  root_.add_flag("--version", version_, "show the version")->group(std::string(kCommonGroup));
  for (const auto& [heading, add] : kVerbs) add(verbs_.under(heading));
}

// ---- parsing

// CLI11 reads `--name=` as a name whose value comes next; an empty value has to stand by itself.
void add_argument(std::vector<std::string>& to, const std::string& argument) {
  if (argument.starts_with("--") && argument.find('=') == argument.size() - 1) {
    to.push_back(argument.substr(0, argument.size() - 1));
    to.emplace_back();
  } else {
    to.push_back(argument);
  }
}

// "bash, zsh or fish"
std::string any_of(const std::vector<std::string_view>& words) {
  return fmt::format("{} or {}", fmt::join(words.begin(), words.end() - 1, ", "), words.back());
}

// CLI11's words for the two mistakes that people make most are hard to read.
std::string explain(const CLI::ParseError& error, const CLI::App& app) {
  const std::string text = error.what();
  const std::string name = text.substr(0, text.find(": "));
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr) {
    if (text.ends_with("missing")) return fmt::format("{} needs a value", name);
    if (text.find("At Most") != std::string::npos) return fmt::format("{} is given more than once", name);
  }
  if (dynamic_cast<const CLI::RequiredError*>(&error) != nullptr) {
    const std::string missing = text.substr(0, text.find(" is required"));
    const CLI::Option* option = app.get_option_no_throw(missing);
    const std::vector<std::string_view> choices = choices_of(missing);
    if (option == nullptr || choices.empty()) return fmt::format("{} is missing", missing);
    return fmt::format("name {}: {}", option->get_description(), any_of(choices));
  }
  return text;
}

std::string display_path(const CLI::App& app) {
  return app.get_parent() == nullptr ? app.get_name() : display_path(*app.get_parent()) + " " + app.get_name();
}

std::vector<std::string> path_below_root(const CLI::App& app) {
  if (app.get_parent() == nullptr) return {};
  std::vector<std::string> path = path_below_root(*app.get_parent());
  path.push_back(app.get_name());
  return path;
}

std::vector<std::string> flag_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

std::vector<std::string> command_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(command->get_name());
  return names;
}

bool takes_value(const CLI::Option& option) {
  return option.get_items_expected_max() > 0;
}

const CLI::App* find_command(const CLI::App& app, const std::string& name) {
  const auto found = app.get_subcommands([&](const CLI::App* command) { return command->get_name() == name; });
  return found.empty() ? nullptr : found.front();
}

// CLI11 would let a switch be on, whatever follows its equals sign.
std::optional<UsageError> complaint_about_switches(const CLI::App& root, std::span<const std::string> arguments) {
  const CLI::App* app = &root;
  for (auto argument = arguments.begin(); argument != arguments.end(); ++argument) {
    if (const CLI::App* command = find_command(*app, *argument)) {
      app = command;
      continue;
    }
    const std::size_t equals = argument->find('=');
    const std::string name = argument->substr(0, equals);
    const CLI::Option* option = name.starts_with('-') ? app->get_option_no_throw(name) : nullptr;
    if (option == nullptr) continue;
    if (takes_value(*option)) {
      if (equals == std::string::npos && ++argument == arguments.end()) break;
    } else if (equals != std::string::npos) {
      return UsageError{fmt::format("{} takes no value; leave out {}", name, argument->substr(equals)),
                        display_path(*app)};
    }
  }
  return std::nullopt;
}

std::string did_you_mean(std::string_view word, const std::vector<std::string>& known) {
  const std::string_view near = closest_word(word, known);
  return near.empty() ? "" : fmt::format("; did you mean {}?", near);
}

// The verb, or the command of a verb, that the arguments name.
const CLI::App* Grammar::chosen() const {
  const CLI::App* app = &root_;
  while (!app->get_subcommands().empty()) app = app->get_subcommands().front();
  return app;
}

// About the first word that nothing takes, as the command that met it would say it.
std::string complain(const CLI::App& app, const std::string& extra) {
  const std::string word = extra.substr(0, extra.find('='));
  if (word.starts_with('-')) return fmt::format("unknown option {}{}", word, did_you_mean(word, flag_names(app)));
  const std::vector<std::string> commands = command_names(app);
  if (commands.empty()) return fmt::format("unexpected argument {}", quoted_excerpt(extra));
  return fmt::format("unknown command {}{}", quoted_excerpt(word), did_you_mean(word, commands));
}

std::optional<UsageError> Grammar::complaint_about_extras() const {
  for (const CLI::App* app = &root_;; app = app->get_subcommands().front()) {
    const std::vector<std::string> extras = app->remaining();
    if (!extras.empty()) return UsageError{complain(*app, extras.front()), display_path(*app)};
    if (app->get_subcommands().empty()) return std::nullopt;
  }
}

int print_version(Context& context) {
  context.out.line("drover " DROVER_VERSION);
  return kExitOk;
}

// As `drover help COMMAND` says it.
std::expected<Invocation, UsageError> help_about(std::vector<std::string> path, const CommonOptions& common) {
  path.insert(path.begin(), "help");
  auto help = Grammar().parse(path);
  if (help) help->common = common;
  return help;
}

std::expected<Invocation, UsageError> Grammar::finish() {
  const CLI::App* verb = chosen();
  if (version_) return Invocation{.common = common_, .command = "--version", .run = print_version};
  const auto found = definitions_.find(verb);
  if (found == definitions_.end()) {
    return std::unexpected(
        UsageError{fmt::format("name a command: {}", fmt::join(command_names(*verb), ", ")), display_path(*verb)});
  }
  const Verb::Definition& definition = found->second;
  if (definition.argv != nullptr) *definition.argv = std::exchange(after_dashes_, {});
  for (const auto& check : definition.checks) {
    if (const Status valid = check(); !valid)
      return std::unexpected(UsageError{valid.error().message, display_path(*verb)});
  }
  if (!after_dashes_.empty())
    return std::unexpected(UsageError{"only drover work takes a command after --", display_path(*verb)});
  return Invocation{.common = common_,
                    .command = fmt::format("{}", fmt::join(path_below_root(*verb), " ")),
                    .run = definition.run,
                    .options = definition.targets,
                    .prefixes = definition.prefixes};
}

std::expected<Invocation, UsageError> Grammar::parse(std::span<const std::string> arguments) {
  std::vector<std::string> before_dashes;
  const auto dashes = std::ranges::find(arguments, "--");
  if (auto complaint = complaint_about_switches(root_, {arguments.begin(), dashes}))
    return std::unexpected(*std::move(complaint));
  for (auto argument = arguments.begin(); argument != dashes; ++argument) add_argument(before_dashes, *argument);
  if (dashes != arguments.end()) after_dashes_.assign(dashes + 1, arguments.end());
  std::ranges::reverse(before_dashes);  // as CLI11 wants them

  const auto usage_error = [&](std::string message) {
    return std::unexpected(UsageError{std::move(message), display_path(*chosen())});
  };
  try {
    root_.parse(std::move(before_dashes));
    if (auto complaint = complaint_about_extras()) return std::unexpected(*std::move(complaint));
    return finish();
  } catch (const CLI::CallForHelp&) {
    return help_about(path_below_root(*chosen()), common_);
  } catch (const CLI::ParseError& error) {
    // A misspelt word explains a missing one.
    if (auto complaint = complaint_about_extras()) return std::unexpected(*std::move(complaint));
    return usage_error(explain(error, *chosen()));
  }
}

// ---- describing

FlagSpec describe_flag(const CLI::Option& option) {
  FlagSpec flag{.help = option.get_description()};
  if (!option.get_lnames().empty()) flag.long_name = "--" + option.get_lnames().front();
  if (!option.get_snames().empty()) flag.short_name = "-" + option.get_snames().front();
  if (takes_value(option)) flag.value = option.get_type_name();
  flag.repeatable = option.get_items_expected_max() > 1;
  flag.common = option.get_group() == kCommonGroup;
  return flag;
}

CommandSpec Grammar::describe(const CLI::App& app) const {
  CommandSpec spec{
      .name = app.get_name(), .summary = app.get_description(), .group = app.get_group(), .footer = app.get_footer()};
  for (const CLI::Option* option : app.get_options()) {
    if (option->nonpositional()) {
      spec.flags.push_back(describe_flag(*option));
    } else {
      spec.positionals.push_back({option->get_name(true), option->get_description(), option->get_required()});
    }
  }
  const auto definition = definitions_.find(&app);
  spec.takes_command = definition != definitions_.end() && definition->second.argv != nullptr;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    spec.commands.push_back(describe(*command));
  }
  return spec;
}

}  // namespace

// ---- verb.h

OptionHandle OptionHandle::required() {
  option_->required();
  return *this;
}

OptionHandle OptionHandle::several() {
  option_->allow_extra_args();
  return *this;
}

bool OptionHandle::given() const {
  return option_->count() > 0;
}

OptionHandle Verb::add(const std::string& names, const std::string& value, Repeat repeat, const std::string& help,
                       Take take) {
  const auto take_all = [name = names.substr(names.rfind(',') + 1),
                         take = std::move(take)](const CLI::results_t& words) {
    for (const std::string& word : words) {
      if (const Status taken = take(word); !taken) throw CLI::ValidationError(name, taken.error().message);
    }
    return true;
  };
  CLI::Option* option = app_->add_option(names, take_all, help)->type_name(value)->expected(1);
  if (repeat == Repeat::kMany) option->expected(1, -1)->allow_extra_args(false);
  return OptionHandle(option);
}

void Verb::add_switch(const std::string& names, const std::string& help, std::function<void()> set) {
  app_->add_flag_function(names, [set = std::move(set)](std::int64_t) { set(); }, help);
}

Status Verb::take_task(const std::string& word, Definition& definition, std::function<void(const TaskId&)> put) {
  const auto task = TRY(read_task(word));
  if (const auto* id = std::get_if<TaskId>(&task)) {
    put(*id);
  } else {
    definition.prefixes.push_back({std::get<std::string>(task), std::move(put)});
  }
  return {};
}

void Verb::json(Format* format, const std::string& help) {
  flag("--json", format, Format::kJson, help);
}

void Verb::formats(Format* format, const std::string& help) {
  json(format, help);
  value("-o,--output", "json|ndjson|wide|name", format, read_format,
        "an array, one object per line, all columns in full, or names only");
}

std::function<Result<int>(std::string_view)> integer_between(Bounds bounds) {
  return [=](std::string_view text) -> Result<int> {
    const auto value = TRY(read_integer(text, bounds));
    return static_cast<int>(value);
  };
}

// ---- parse.h

std::expected<Invocation, UsageError> parse_command_line(std::span<const std::string> arguments) {
  if (arguments.empty()) return help_about({}, {});
  return Grammar().parse(arguments);
}

CommandSpec describe_command_line() {
  return Grammar().describe();
}

}  // namespace drover::cli
