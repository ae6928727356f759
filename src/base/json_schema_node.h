// A compiled schema: nodes that refer to each other by index. For json_schema*.cc alone.
#pragma once

#include <re2/re2.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/decimal.h"
#include "base/json_schema.h"

namespace drover::json {

using SchemaIndex = std::size_t;

// The bits of SchemaNode::types.
enum SchemaType : std::uint8_t {
  kTypeNull = 1,
  kTypeBoolean = 2,
  kTypeInteger = 4,
  kTypeNumber = 8,
  kTypeString = 16,
  kTypeArray = 32,
  kTypeObject = 64,
};

struct SchemaNode {
  bool refuses_all = false;  // the schema `false`
  std::uint8_t types = 0;    // of SchemaType; 0: any
  std::vector<std::string> type_names;
  std::optional<std::set<std::string>> allowed;  // enum: meanings
  std::optional<std::string> constant;           // const: its meaning

  std::map<std::string, SchemaIndex, std::less<>> properties;
  std::vector<std::string> required;
  std::optional<SchemaIndex> additional;

  std::vector<SchemaIndex> prefix_items;
  std::optional<SchemaIndex> items;
  std::optional<std::size_t> min_items;
  std::optional<std::size_t> max_items;
  bool unique_items = false;

  std::optional<std::size_t> min_length;
  std::optional<std::size_t> max_length;
  std::shared_ptr<const re2::RE2> pattern;

  std::optional<Decimal> minimum;
  std::optional<Decimal> maximum;
  std::optional<Decimal> exclusive_minimum;
  std::optional<Decimal> exclusive_maximum;
  std::optional<Decimal> multiple_of;

  std::optional<SchemaIndex> ref;
  std::vector<SchemaIndex> all_of;
  std::vector<SchemaIndex> any_of;
  std::vector<SchemaIndex> one_of;
  std::optional<SchemaIndex> negated;
};

struct Schema::Program {
  std::vector<SchemaNode> nodes;  // the first is the whole schema
  std::string text;
};

}  // namespace drover::json
