#include "store/redis/ledger_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>

#include "base/json.h"
#include "base/text.h"

namespace drover::redis {
namespace {

template <class Key>
auto names_of(Key& key) {
  return std::array{&key.owner, &key.type, &key.runner, &key.model, &key.error_class};
}

std::unexpected<Error> unreadable(std::string_view text) {
  return fail(ErrorCode::kStoreDamaged, fmt::format("unreadable entry of the ledger: {}", quoted_excerpt(text)),
              "redis.read");
}

}  // namespace

std::string ledger_text(std::span<const LedgerEntry> entries) {
  if (entries.empty()) return "";
  json::Writer out;
  out.begin_array();
  for (const auto& [key, amounts] : entries) {
    json::Writer names;
    names.begin_array();
    for (const std::string* name : names_of(key)) names.string(*name);
    names.end_array();
    out.begin_array().string(key.day).string(std::move(names).take());
    out.string(fmt::to_string(fmt::join(numbers_of(amounts), " "))).end_array();
  }
  out.end_array();
  return std::move(out).take();
}

Result<LedgerEntry> parse_ledger_entry(const std::string& day, std::string_view names, std::string_view amounts) {
  const auto parsed = json::parse(names);
  const json::Value::Array* items = parsed ? parsed->as_array() : nullptr;
  LedgerEntry entry{.key = {.day = day}};
  const auto wanted = names_of(entry.key);
  if (items == nullptr || items->size() != wanted.size()) return unreadable(names);
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const std::string* name = (*items)[i].as_string();
    if (name == nullptr) return unreadable(names);
    *wanted[i] = *name;
  }
  AmountNumbers numbers{};
  const char* at = amounts.data();
  const char* const end = at + amounts.size();
  for (std::int64_t& number : numbers) {
    const auto [stop, error] = std::from_chars(at, end, number);
    if (error != std::errc{} || (stop != end && *stop != ' ')) return unreadable(amounts);
    at = stop != end ? stop + 1 : end;
  }
  if (at != end) return unreadable(amounts);
  entry.amounts = amounts_of(numbers);
  return entry;
}

}  // namespace drover::redis
