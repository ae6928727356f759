// Saved views: one small document. The queue keeps them and does not look into them.
#include <fmt/format.h>

#include "base/json.h"
#include "base/text.h"
#include "base/try.h"
#include "engine/engine.h"
#include "engine/views.h"

namespace drover {
namespace {

constexpr std::size_t kOwnersMax = 1'000;  // with views

std::unexpected<Error> unreadable_views() {
  return fail(ErrorCode::kStoreDamaged, "the document of the saved views cannot be read", "engine.views");
}

Result<SavedView> read_view(const json::Value& value) {
  const json::Value::Array* parts = value.as_array();
  if (parts == nullptr || parts->size() != 3) return unreadable_views();
  const std::string* name = (*parts)[0].as_string();
  const std::string* query = (*parts)[1].as_string();
  const auto at = (*parts)[2].as_int();
  if (name == nullptr || query == nullptr || !at) return unreadable_views();
  return SavedView{*name, *query, Time(Millis(*at))};
}

JsonText to_json(const ViewDocument& document) {
  json::Writer out;
  out.begin_object();
  for (const auto& [owner, views] : document) {
    if (views.empty()) continue;
    out.key(owner).begin_array();
    for (const auto& [name, view] : views) {
      out.begin_array().string(name).string(view.query).number(view.updated_at.time_since_epoch().count()).end_array();
    }
    out.end_array();
  }
  out.end_object();
  return std::move(out).take();
}

Status check_view(const SavedView& view) {
  if (view.name.empty() || view.name.size() > kViewNameBytesMax || !is_utf8(view.name)) {
    return fail(ErrorCode::kInvalidArgument, fmt::format("name: expected 1 to {} bytes of UTF-8", kViewNameBytesMax));
  }
  if (view.query.size() > kViewQueryBytesMax || !is_utf8(view.query)) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("query: expected at most {} bytes of UTF-8", kViewQueryBytesMax));
  }
  return {};
}

Status make_room(const ViewDocument& document, const std::string& owner, const std::string& name) {
  const auto own = document.find(owner);
  if (own == document.end() && document.size() >= kOwnersMax) {
    return fail(ErrorCode::kLimitExceeded, fmt::format("{} owners have saved views; no more may", kOwnersMax));
  }
  if (own != document.end() && own->second.size() >= kViewsMax && !own->second.contains(name)) {
    return fail(ErrorCode::kLimitExceeded, fmt::format("there are {} saved views; delete one first", kViewsMax));
  }
  return {};
}

}  // namespace

Result<ViewDocument> parse_views(std::string_view text) {
  ViewDocument document;
  const auto value = json::parse(text, json::kDepthMax, json::kAnyKeys);
  const json::Value::Object* owners = value ? value->as_object() : nullptr;
  if (owners == nullptr) return unreadable_views();
  for (const auto& [owner, views] : *owners) {
    const json::Value::Array* items = views.as_array();
    if (items == nullptr) return unreadable_views();
    for (const json::Value& item : *items) {
      auto view = TRY(read_view(item));
      const std::string name = view.name;
      document[owner].emplace(name, std::move(view));
    }
  }
  return document;
}

Result<std::vector<SavedView>> Engine::views(const std::optional<std::string>& owner) {
  const auto stored = TRY(store_.document(DocumentKind::kViews));
  auto document = TRY(parse_views(stored.text));
  std::vector<SavedView> views;
  for (auto& [name, view] : document[owner.value_or("")]) views.push_back(std::move(view));
  return views;
}

Result<SavedView> Engine::save_view(const std::optional<std::string>& owner, const SavedView& view) {
  TRY(check_view(view));
  SavedView saved = view;
  saved.updated_at = TRY(store_.now());
  TRY(change_document(DocumentKind::kViews, "save_view", [&](const JsonText& text) -> Result<JsonText> {
    auto document = TRY(parse_views(text));
    TRY(make_room(document, owner.value_or(""), view.name));
    document[owner.value_or("")][view.name] = saved;
    return to_json(document);
  }));
  return saved;
}

Status Engine::delete_view(const std::optional<std::string>& owner, const std::string& name) {
  return change_document(DocumentKind::kViews, "delete_view", [&](const JsonText& text) -> Result<JsonText> {
    auto document = TRY(parse_views(text));
    if (document[owner.value_or("")].erase(name) == 0) {
      return drover::fail(ErrorCode::kNotFound, fmt::format("there is no saved view {}", quoted_excerpt(name)));
    }
    return to_json(document);
  });
}

}  // namespace drover
