#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <ranges>
#include <utility>

#include "base/json_schema_node.h"
#include "base/text.h"
#include "base/try.h"

namespace drover::json {
namespace {

constexpr std::size_t kNodesMax = 10'000;
constexpr std::size_t kPatternBytesMax = 1'000;
constexpr std::int64_t kPatternMemoryMax = 1 << 20;
constexpr std::string_view kDefsPrefix = "#/$defs/";

constexpr std::array<std::pair<std::string_view, std::uint8_t>, 7> kTypes{{
    {"null", kTypeNull},
    {"boolean", kTypeBoolean},
    {"integer", kTypeInteger},
    {"number", kTypeNumber},
    {"string", kTypeString},
    {"array", kTypeArray},
    {"object", kTypeObject},
}};

// RFC 6901: ~1 is a slash, ~0 a tilde.
std::string unescape_pointer(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool escape = text[i] == '~' && i + 1 < text.size() && (text[i + 1] == '0' || text[i + 1] == '1');
    out += escape ? (text[i + 1] == '1' ? '/' : '~') : text[i];
    i += escape ? 1 : 0;
  }
  return out;
}

class Compiler {
 public:
  std::expected<std::vector<SchemaNode>, SchemaProblem> run(const Value& document) {
    schema(document);
    if (!problem_) resolve_refs();
    if (!problem_) refuse_loops();
    if (problem_) return std::unexpected(*std::move(problem_));
    return std::move(nodes_);
  }

 private:
  using Path = std::vector<std::string>;
  using Handler = void (*)(Compiler&, SchemaNode&, const Value&);
  struct Keyword {
    std::string_view name;
    Handler compile;
  };
  struct Ref {
    SchemaIndex from;
    std::string target;
    Path path;
  };
  enum class Mark : std::uint8_t { kUnseen, kOpen, kDone };

  static constexpr std::size_t kKeywordCount = 32;
  static const std::array<Keyword, kKeywordCount> kKeywords;

  // The first problem stands.
  void complain(std::string what) {
    if (!problem_) problem_ = SchemaProblem{path_, std::move(what)};
  }

  template <class Step, class Then>
  void within(const Step& step, Then then) {
    path_.push_back(fmt::format("{}", step));
    if (!problem_) then();
    path_.pop_back();
  }

  SchemaIndex schema(const Value& document) {
    const SchemaIndex index = nodes_.size();
    if (index >= kNodesMax) {
      complain(fmt::format("the schema has more than {} parts", kNodesMax));
      return 0;
    }
    nodes_.emplace_back();
    paths_.push_back(path_);
    current_.push_back(index);
    SchemaNode node;
    if (const bool* all = document.as_bool()) {
      node.refuses_all = !*all;
    } else if (const Value::Object* object = document.as_object()) {
      for (const auto& [key, value] : *object) keyword(node, key, value);
    } else {
      complain(fmt::format("expected a schema (a mapping, true or false), found {}", document.kind_name()));
    }
    current_.pop_back();
    nodes_[index] = std::move(node);
    return index;
  }

  void keyword(SchemaNode& node, const std::string& key, const Value& value) {
    within(key, [&] {
      const auto found = std::ranges::find(kKeywords, key, &Keyword::name);
      if (found != kKeywords.end()) return found->compile(*this, node, value);
      std::string what = fmt::format("unknown keyword {}", quoted_excerpt(key));
      const auto nearest = closest_word(key, kKeywords | std::views::transform(&Keyword::name));
      if (!nearest.empty()) what += fmt::format(" (did you mean \"{}\"?)", nearest);
      complain(std::move(what));
    });
  }

  std::vector<SchemaIndex> schemas(const Value& value) {
    const Value::Array* items = value.as_array();
    std::vector<SchemaIndex> indexes;
    if (items == nullptr || items->empty()) {
      complain("expected a list of schemas");
      return indexes;
    }
    for (const Value& item : *items) within(indexes.size(), [&] { indexes.push_back(schema(item)); });
    return indexes;
  }

  std::map<std::string, SchemaIndex, std::less<>> named_schemas(const Value& value) {
    const Value::Object* object = value.as_object();
    std::map<std::string, SchemaIndex, std::less<>> named;
    if (object == nullptr) {
      complain("expected a mapping of names to schemas");
      return named;
    }
    for (const auto& [name, item] : *object) within(name, [&] { named.emplace(name, schema(item)); });
    return named;
  }

  std::optional<std::size_t> count(const Value& value) {
    const auto number = value.as_int();
    if (number && *number >= 0) return static_cast<std::size_t>(*number);
    complain("expected a whole number, 0 or more");
    return std::nullopt;
  }

  std::optional<Decimal> number(const Value& value) {
    if (const Value::Number* number = value.as_number()) return Decimal::parse(number->text);
    complain("expected a number");
    return std::nullopt;
  }

  std::optional<Decimal> divisor(const Value& value) {
    auto decimal = number(value);
    if (!decimal || decimal->may_divide()) return decimal;
    complain(fmt::format("expected a number above 0 of at most {} digits", Decimal::kDivisorDigitsMax));
    return std::nullopt;
  }

  void type(SchemaNode& node, const Value& value) {
    const Value::Array one{value};
    const Value::Array* names = value.as_array() != nullptr ? value.as_array() : &one;
    if (names->empty()) return complain("expected a type or a list of types");
    for (const Value& item : *names) {
      const std::string* name = item.as_string();
      const auto* found =
          name == nullptr ? kTypes.end() : std::ranges::find(kTypes, *name, &decltype(kTypes)::value_type::first);
      if (found == kTypes.end()) {
        return complain("expected null, boolean, integer, number, string, array or object");
      }
      node.types |= found->second;
      node.type_names.push_back(*name);
    }
  }

  void enumeration(SchemaNode& node, const Value& value) {
    const Value::Array* items = value.as_array();
    if (items == nullptr || items->empty()) return complain("expected a list of values");
    node.allowed.emplace();
    for (const Value& item : *items) node.allowed->insert(meaning_of(item));
  }

  void required(SchemaNode& node, const Value& value) {
    const Value::Array* items = value.as_array();
    if (items == nullptr) return complain("expected a list of names");
    for (const Value& item : *items) {
      const std::string* name = item.as_string();
      if (name == nullptr) return complain("expected a list of names");
      node.required.push_back(*name);
    }
  }

  void pattern(SchemaNode& node, const Value& value) {
    const std::string* text = value.as_string();
    if (text == nullptr) return complain("expected a regular expression");
    if (text->size() > kPatternBytesMax) return complain(fmt::format("longer than {} bytes", kPatternBytesMax));
    re2::RE2::Options options;
    options.set_log_errors(false);
    options.set_max_mem(kPatternMemoryMax);
    auto compiled = std::make_shared<const re2::RE2>(*text, options);
    if (!compiled->ok()) return complain(fmt::format("no regular expression: {}", compiled->error()));
    node.pattern = std::move(compiled);
  }

  void unique_items(SchemaNode& node, const Value& value) {
    const bool* unique = value.as_bool();
    if (unique == nullptr) return complain("expected true or false");
    node.unique_items = *unique;
  }

  void definitions(const Value& value) {
    if (current_.size() != 1) return complain("definitions stand at the top of a schema only");
    definitions_ = named_schemas(value);
  }

  void reference(const Value& value) {
    const std::string* target = value.as_string();
    if (target == nullptr) return complain("expected \"#\" or \"#/$defs/NAME\"");
    refs_.push_back({current_.back(), *target, path_});
  }

  void resolve_refs() {
    for (const Ref& ref : refs_) {
      const std::string_view target = ref.target;
      if (target == "#") {
        nodes_[ref.from].ref = 0;
        continue;
      }
      const auto found = target.starts_with(kDefsPrefix)
                             ? definitions_.find(unescape_pointer(target.substr(kDefsPrefix.size())))
                             : definitions_.end();
      if (found == definitions_.end()) {
        problem_ = SchemaProblem{ref.path, fmt::format("{} is nothing in this schema; expected \"#\" or "
                                                       "\"#/$defs/NAME\"",
                                                       quoted_excerpt(target))};
        return;
      }
      nodes_[ref.from].ref = found->second;
    }
  }

  // The schemas that look at the same value as this one.
  static std::vector<SchemaIndex> in_place(const SchemaNode& node) {
    std::vector<SchemaIndex> all;
    for (const auto* list : {&node.all_of, &node.any_of, &node.one_of})
      all.insert(all.end(), list->begin(), list->end());
    if (node.negated) all.push_back(*node.negated);
    if (node.ref) all.push_back(*node.ref);
    return all;
  }

  // A schema that leads back to itself without going into the value says nothing, for ever.
  void refuse_loops() {
    struct Visit {
      SchemaIndex index;
      std::vector<SchemaIndex> left;
    };
    std::vector<Mark> marks(nodes_.size(), Mark::kUnseen);
    for (SchemaIndex start = 0; start < nodes_.size(); ++start) {
      if (marks[start] != Mark::kUnseen) continue;
      std::vector<Visit> open;
      const auto enter = [&](SchemaIndex index) {
        marks[index] = Mark::kOpen;
        open.push_back({index, in_place(nodes_[index])});
      };
      enter(start);
      while (!open.empty()) {
        Visit& visit = open.back();
        if (visit.left.empty()) {
          marks[visit.index] = Mark::kDone;
          open.pop_back();
          continue;
        }
        const SchemaIndex next = visit.left.back();
        visit.left.pop_back();
        if (marks[next] == Mark::kOpen) {
          problem_ = SchemaProblem{paths_[next], "this schema refers to itself without going into the value"};
          return;
        }
        if (marks[next] == Mark::kUnseen) enter(next);
      }
    }
  }

  std::vector<SchemaNode> nodes_;
  std::vector<Path> paths_;           // of each node
  std::vector<SchemaIndex> current_;  // the schemas that are being compiled, outermost first
  std::map<std::string, SchemaIndex, std::less<>> definitions_;
  std::vector<Ref> refs_;
  Path path_;
  std::optional<SchemaProblem> problem_;
};

using Node = SchemaNode;

const std::array<Compiler::Keyword, Compiler::kKeywordCount> Compiler::kKeywords{{
    {"type", [](Compiler& c, Node& n, const Value& v) { c.type(n, v); }},
    {"enum", [](Compiler& c, Node& n, const Value& v) { c.enumeration(n, v); }},
    {"const", [](Compiler&, Node& n, const Value& v) { n.constant = meaning_of(v); }},
    {"properties", [](Compiler& c, Node& n, const Value& v) { n.properties = c.named_schemas(v); }},
    {"required", [](Compiler& c, Node& n, const Value& v) { c.required(n, v); }},
    {"additionalProperties", [](Compiler& c, Node& n, const Value& v) { n.additional = c.schema(v); }},
    {"items", [](Compiler& c, Node& n, const Value& v) { n.items = c.schema(v); }},
    {"prefixItems", [](Compiler& c, Node& n, const Value& v) { n.prefix_items = c.schemas(v); }},
    {"minItems", [](Compiler& c, Node& n, const Value& v) { n.min_items = c.count(v); }},
    {"maxItems", [](Compiler& c, Node& n, const Value& v) { n.max_items = c.count(v); }},
    {"uniqueItems", [](Compiler& c, Node& n, const Value& v) { c.unique_items(n, v); }},
    {"minLength", [](Compiler& c, Node& n, const Value& v) { n.min_length = c.count(v); }},
    {"maxLength", [](Compiler& c, Node& n, const Value& v) { n.max_length = c.count(v); }},
    {"pattern", [](Compiler& c, Node& n, const Value& v) { c.pattern(n, v); }},
    {"minimum", [](Compiler& c, Node& n, const Value& v) { n.minimum = c.number(v); }},
    {"maximum", [](Compiler& c, Node& n, const Value& v) { n.maximum = c.number(v); }},
    {"exclusiveMinimum", [](Compiler& c, Node& n, const Value& v) { n.exclusive_minimum = c.number(v); }},
    {"exclusiveMaximum", [](Compiler& c, Node& n, const Value& v) { n.exclusive_maximum = c.number(v); }},
    {"multipleOf", [](Compiler& c, Node& n, const Value& v) { n.multiple_of = c.divisor(v); }},
    {"anyOf", [](Compiler& c, Node& n, const Value& v) { n.any_of = c.schemas(v); }},
    {"oneOf", [](Compiler& c, Node& n, const Value& v) { n.one_of = c.schemas(v); }},
    {"allOf", [](Compiler& c, Node& n, const Value& v) { n.all_of = c.schemas(v); }},
    {"not", [](Compiler& c, Node& n, const Value& v) { n.negated = c.schema(v); }},
    {"$defs", [](Compiler& c, Node&, const Value& v) { c.definitions(v); }},
    {"$ref", [](Compiler& c, Node&, const Value& v) { c.reference(v); }},
    // These say nothing of whether a value is valid.
    {"default", [](Compiler&, Node&, const Value&) {}},
    {"title", [](Compiler&, Node&, const Value&) {}},
    {"description", [](Compiler&, Node&, const Value&) {}},
    {"examples", [](Compiler&, Node&, const Value&) {}},
    {"$id", [](Compiler&, Node&, const Value&) {}},
    {"$schema", [](Compiler&, Node&, const Value&) {}},
    {"$comment", [](Compiler&, Node&, const Value&) {}},
}};

}  // namespace

std::expected<Schema, SchemaProblem> Schema::compile(const Value& document) {
  auto nodes = TRY(Compiler().run(document));
  return Schema(std::make_shared<const Program>(Program{std::move(nodes), dump(document)}));
}

const std::string& Schema::text() const {
  return program_->text;
}

}  // namespace drover::json
