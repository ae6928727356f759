// How a verb says what it takes and what it does. Only parse.cc knows the library that reads the command line.
//
// A verb is one file in verbs/: a struct of options, a function that defines them, one that runs them, and add_NAME,
// which puts these together with the texts of help. verbs/verbs.h lists all of them.
#pragma once

#include <any>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/try.h"
#include "cli/command_spec.h"
#include "cli/context.h"
#include "cli/options.h"
#include "cli/read_value.h"
#include "drover/task_queue.h"

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

// Where the values of options and arguments are read to, by name: "--queue", "ID", "--" for a command after it.
using Targets = std::map<std::string, std::any, std::less<>>;

// A verb while it is being defined. Names are "--queue", "-f,--follow", or "ID" for an argument; `value` is how help
// names what it takes, with "a|b" for a choice of words.
class Verb {
 public:
  struct Definition {
    std::function<int(Context&)> run;  // owns the options
    std::vector<std::function<Status()>> checks;
    std::vector<std::string>* argv = nullptr;  // takes the command after --, if the verb allows one
    Targets targets;
    std::vector<TaskPrefix> prefixes;  // that were typed
  };

  Verb(CLI::App* app, Definition* definition) : app_(app), definition_(definition) {}

  // `read` turns the word into *target.
  template <class Target, class Read>
  OptionHandle value(const std::string& names, const std::string& value, Target* target, Read read,
                     const std::string& help) {
    remember(names, target);
    return add(names, value, Repeat::kOnce, help, [=](const std::string& word) -> Status {
      *target = TRY(read(word));
      return {};
    });
  }

  // One of the words "a|b|c", which are in the order of the enumerators. They are the name of an argument, the value of
  // an option.
  template <class Enum>
  OptionHandle choice(const std::string& names, const std::string& words, Enum* target, const std::string& help) {
    const auto read = [all = words.empty() ? names : words](std::string_view text) {
      return read_enumerator<Enum>(text, choices_of(all));
    };
    return value(names, words, target, read, help);
  }

  // May be given several times; each time it takes one value.
  template <class Target, class Read>
  OptionHandle list(const std::string& names, const std::string& value, std::vector<Target>* target, Read read,
                    const std::string& help) {
    remember(names, target);
    return add(names, value, Repeat::kMany, help, [=](const std::string& word) -> Status {
      auto read_value = TRY(read(word));
      target->push_back(std::move(read_value));
      return {};
    });
  }

  // A switch: sets *target to `to`.
  template <class Target, class To = Target>
  void flag(const std::string& names, Target* target, To to, const std::string& help) {
    remember(names, target);
    add_switch(names, help, [target, to = std::move(to)] { *target = to; });
  }

  // --json; `help` says what is printed.
  void json(Format* format, const std::string& help);
  // For verbs that print many: --json and --output.
  void formats(Format* format, const std::string& help);
  // A task by its id, or by the beginning of it: open_chosen_store() finds out which task that is.
  template <class Target>
  OptionHandle task(const std::string& names, const std::string& value, Target* target, const std::string& help) {
    remember(names, target);
    return add(names, value, Repeat::kOnce, help, [definition = definition_, target](const std::string& word) {
      return take_task(word, *definition, [target](const TaskId& id) { *target = id; });
    });
  }
  template <class Item>
  OptionHandle tasks(const std::string& names, const std::string& value, std::vector<Item>* target,
                     const std::string& help) {
    remember(names, target);
    return add(names, value, Repeat::kMany, help, [definition = definition_, target](const std::string& word) {
      target->emplace_back(TaskId());
      return take_task(word, *definition,
                       [target, place = target->size() - 1](const TaskId& id) { (*target)[place] = id; });
    });
  }
  void task_id(TaskId* id) { task("ID", "", id, "the task").required(); }
  // A task, as above, or whatever else `read` makes of the word. What is neither gets the complaint of `read`.
  template <class Target, class Read>
  OptionHandle task_or(const std::string& names, Target* target, Read read, const std::string& help) {
    remember(names, target);
    return add(names, "", Repeat::kOnce, help,
               [definition = definition_, target, read](const std::string& word) -> Status {
                 auto other = read(word);
                 if (other) {
                   *target = *std::move(other);
                   return {};
                 }
                 *target = TaskId();
                 if (take_task(word, *definition, [target](const TaskId& id) { *target = id; })) return {};
                 return std::unexpected(other.error());
               });
  }

  // Whether the options go together, looked at when all of them are read.
  void check(std::function<Status()> check) { definition_->checks.push_back(std::move(check)); }
  void takes_command(std::vector<std::string>* argv) {
    remember("--", argv);
    definition_->argv = argv;
  }

 private:
  enum class Repeat : std::uint8_t { kOnce, kMany };
  using Take = std::function<Status(const std::string&)>;

  static Status take_task(const std::string& word, Definition& definition, std::function<void(const TaskId&)> put);
  void remember(const std::string& names, std::any target) {
    definition_->targets[names.substr(names.rfind(',') + 1)] = std::move(target);
  }
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

// What help says about a verb beside its options.
struct VerbText {
  std::string name;
  std::string summary;  // one line, without a full stop
  std::string footer;   // notes and examples
};

// Where verbs are added. A family is a verb that only has commands of its own: `drover gate list`.
class Verbs {
 public:
  virtual ~Verbs() = default;

  template <class Options>
  void add(const VerbText& text, void (*define)(Verb&, Options&), int (*run)(const Options&, Context&)) {
    const auto options = std::make_shared<Options>();
    Verb verb = add_verb(text, [options, run](Context& context) { return run(*options, context); });
    define(verb, *options);
  }
  virtual Verbs& family(const VerbText& text) = 0;

 private:
  virtual Verb add_verb(const VerbText& text, std::function<int(Context&)> run) = 0;
};

}  // namespace drover::cli
