// What each verb takes, said without naming the library that parses it: parse.cc alone knows that one.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "cli/options.h"
#include "cli/read_value.h"

namespace CLI {  // NOLINT(readability-identifier-naming): as the library calls it
class App;
class Option;
}  // namespace CLI

namespace drover::cli {

// One option or argument; what may be said of it beside its value.
class OptionHandle {
 public:
  explicit OptionHandle(CLI::Option* option) : option_(option) {}

  OptionHandle required();
  // Takes all values that follow it, not only one.
  OptionHandle several();
  // Whether the command line has it; to be asked once everything is read.
  [[nodiscard]] bool given() const;

 private:
  CLI::Option* option_;
};

// A verb while it is being defined. Names are "--queue", "-f,--follow", or "ID" for an argument; `value` is how help
// names what it takes, with "a|b" for a choice of words.
class Verb {
 public:
  // How a verb becomes a command once everything is read.
  struct Definition {
    std::function<Command()> make;
    std::vector<std::function<Status()>> checks;
    std::vector<std::string>* argv = nullptr;  // where what stands after -- goes, if the verb takes that
  };

  Verb(CLI::App* app, Definition* definition) : app_(app), definition_(definition) {}

  // `read` turns the word into *target.
  template <class Target, class Read>
  OptionHandle value(const std::string& names, const std::string& value, Target* target, Read read,
                     const std::string& help) {
    return add(names, value, Repeat::kOnce, help, [=](const std::string& word) -> Status {
      auto read_value = read(word);
      if (!read_value) return std::unexpected(read_value.error());
      *target = *std::move(read_value);
      return {};
    });
  }

  // May be given several times; each time it takes one value.
  template <class Target, class Read>
  OptionHandle list(const std::string& names, const std::string& value, std::vector<Target>* target, Read read,
                    const std::string& help) {
    return add(names, value, Repeat::kMany, help, [=](const std::string& word) -> Status {
      auto read_value = read(word);
      if (!read_value) return std::unexpected(read_value.error());
      target->push_back(*std::move(read_value));
      return {};
    });
  }

  // A switch: sets *target to `to`.
  template <class Target, class To = Target>
  void flag(const std::string& names, Target* target, To to, const std::string& help) {
    add_switch(names, help, [target, to = std::move(to)] { *target = to; });
  }

  // --json; `help` says what is printed.
  void json(Format* format, const std::string& help);
  // For verbs that print many: --json and --output.
  void formats(Format* format, const std::string& help);
  void task_id(TaskId* id) { value("ID", "", id, read_task_id, "the task").required(); }

  // Whether the options go together, looked at when all of them are read.
  void check(std::function<Status()> check) { definition_->checks.push_back(std::move(check)); }
  // Takes a command after --.
  void takes_command(std::vector<std::string>* argv) { definition_->argv = argv; }

 private:
  enum class Repeat : std::uint8_t { kOnce, kMany };
  using Take = std::function<Status(const std::string&)>;

  OptionHandle add(const std::string& names, const std::string& value, Repeat repeat, const std::string& help,
                   Take take);
  void add_switch(const std::string& names, const std::string& help, std::function<void()> set);

  CLI::App* app_;
  Definition* definition_;
};

// A complaint about one option, for Verb::check.
[[nodiscard]] inline std::unexpected<Error> complaint(std::string_view option, std::string_view what) {
  return fail(ErrorCode::kInvalidArgument, std::string(option) + ": " + std::string(what));
}

// A whole number within the bounds.
[[nodiscard]] std::function<Result<int>(std::string_view)> integer_between(Bounds bounds);

// Where verbs are added. A family is a verb that only has commands of its own: `drover gate list`.
class Verbs {
 public:
  virtual ~Verbs() = default;

  template <class Options>
  std::pair<Verb, Options*> add(const std::string& name) {
    auto options = std::make_shared<Options>();
    return {add_verb(name, [options] { return Command(*options); }), options.get()};
  }
  virtual Verbs& family(const std::string& name) = 0;

 private:
  // `make` lives as long as the grammar, and with it the options.
  virtual Verb add_verb(const std::string& name, std::function<Command()> make) = 0;
};

// The verbs, by the heading that they stand under in help. Each is in the file of its name.
void add_running_verbs(Verbs& verbs);
void add_task_verbs(Verbs& verbs);
void add_dlq_verbs(Verbs& verbs);
void add_operating_verbs(Verbs& verbs);
void add_other_verbs(Verbs& verbs);

}  // namespace drover::cli
