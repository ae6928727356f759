// A documented part of JSON Schema 2020-12 (docs/reference/json-schema.md), compiled once and asked often.
//
// Numbers are compared as decimals, whatever their length. Every loop and every recursion is bounded.
#pragma once

#include <expected>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"

namespace drover::json {

// What is wrong with a schema, and where in it.
struct SchemaProblem {
  std::vector<std::string> path;  // keys and indexes from its root
  std::string what;
};

// Where a value breaks its schema: the first place in the order of the value.
struct SchemaError {
  std::string path;  // JSON Pointer; empty for the whole value
  std::string what;  // "expected string, found number"

  bool operator==(const SchemaError&) const = default;
};
// "/files/3/name: expected string, found number"
[[nodiscard]] std::string to_string(const SchemaError& error);

class Schema {
 public:
  [[nodiscard]] static std::expected<Schema, SchemaProblem> compile(const Value& document);

  // Safe to call from any thread.
  [[nodiscard]] std::optional<SchemaError> validate(const Value& value) const;
  // The document that it was compiled from.
  [[nodiscard]] const std::string& text() const;

  bool operator==(const Schema& other) const { return text() == other.text(); }

 private:
  struct Program;
  explicit Schema(std::shared_ptr<const Program> program) : program_(std::move(program)) {}

  std::shared_ptr<const Program> program_;
};

// Two values that mean the same have one such text: keys sorted, numbers in one spelling.
[[nodiscard]] std::string meaning_of(const Value& value);

}  // namespace drover::json
