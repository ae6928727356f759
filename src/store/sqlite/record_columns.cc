#include "store/sqlite/record_columns.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "base/check.h"
#include "embedded/sqlite.h"
#include "store/sqlite/named_sql.h"

namespace drover::sqlite {
namespace {

constexpr std::string_view kTaskViews = named_sql(embedded::tasks_sql, "task_views");

void add(std::string& list, std::string_view separator, std::string_view item) {
  if (!list.empty()) list += separator;
  list += item;
}

template <class IsWanted>
std::string names_of(IsWanted is_wanted) {
  std::string list;
  visit_columns(is_wanted, [&](auto /*field*/, const std::string& name, auto /*number*/) { add(list, ", ", name); });
  return list;
}

std::string head_names() {
  std::string list;
  visit_columns(kIsHead, [&](auto field, const std::string& name, auto /*number*/) {
    const bool is_cascade = field.template is<&TaskRecord::cascade_due>();
    add(list, ", ", is_cascade ? "cascade_at AS cascade_due" : name);
  });
  return list;
}

std::string assignments() {
  std::string list;
  int number = 0;
  visit_columns(kIsSet, [&](auto /*field*/, const std::string& name, auto /*number*/) {
    add(list, ", ", fmt::format("{} = ?{}", name, ++number));
  });
  return list;
}

template <class IsWanted>
std::string own_or_bound(IsWanted is_wanted) {
  std::string list;
  int bound = 1;  // the rows
  visit_columns(is_wanted, [&](auto field, const std::string& name, auto /*number*/) {
    add(list, ", ", kIsBoundOnce(field) ? fmt::format("?{}", ++bound) : kIsOwn(field) ? name : "1");
  });
  return list;
}

std::string bytes_of_bodies() {
  std::string sum;
  visit_columns(kIsBody, [&](auto /*field*/, const std::string& name, auto /*number*/) {
    add(sum, " + ", fmt::format("coalesce(length(CAST({} AS BLOB)), 0)", name));
  });
  return sum;
}

using Lists = std::vector<std::pair<std::string_view, std::string>>;

const Lists& lists() {
  static const Lists kAll{
      {"{given}", names_of(kIsGiven)},          {"{body}", names_of(kIsBody)},
      {"{moving}", names_of(kIsMoving)},        {"{head}", head_names()},
      {"{large}", names_of(kIsLarge)},          {"{set}", assignments()},
      {"{like_given}", own_or_bound(kIsGiven)}, {"{like_moving}", own_or_bound(kIsMoving)},
      {"{body_bytes}", bytes_of_bodies()},
  };
  return kAll;
}

}  // namespace

std::string with_columns(std::string_view sql) {
  std::string text(sql);
  for (const auto& [mark, list] : lists()) {
    for (std::size_t at = text.find(mark); at != std::string::npos; at = text.find(mark, at + list.size())) {
      text.replace(at, mark.size(), list);
    }
  }
  CHECK_MSG(text.find('{') == std::string::npos, "a list of columns that nobody knows");
  return text;
}

void add_task_views(Connection& db) {
  static const std::string kScript = with_columns(kTaskViews);
  db.execute_script(kScript);
}

}  // namespace drover::sqlite
