// How a verb prints many things of one kind, in the format that was asked for.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "cli/context.h"
#include "cli/table.h"
#include "drover/task_queue.h"

namespace drover::cli {

template <class T>
struct Listing {
  std::span<const T> items;
  std::string_view nothing;  // said to people when there is none: "no tasks"
  std::function<std::string(const T&)> name;
  std::function<Table()> table;
};

// T has a to_json.
template <class T>
void print(const Listing<T>& listing, Format format, Context& context) {
  std::string text;
  switch (format) {
    case Format::kJson:
      for (const T& item : listing.items) text.append(text.empty() ? "[" : ",\n ").append(to_json(item));
      text.append(text.empty() ? "[]\n" : "]\n");
      break;
    case Format::kNdjson:
      for (const T& item : listing.items) text.append(to_json(item)).append(1, '\n');
      break;
    case Format::kName:
      for (const T& item : listing.items) text.append(listing.name(item)).append(1, '\n');
      break;
    case Format::kAuto:
    case Format::kWide:
      if (listing.items.empty()) return context.say(listing.nothing);
      text = format == Format::kWide ? listing.table().render_wide(context.out.look())
                                     : listing.table().render(context.out.look());
      break;
  }
  context.out.write(text);
}

// Up to `limit` tasks from the cursor on, read page by page.
[[nodiscard]] Result<TaskPage> list_up_to(TaskQueue& queue, const TaskFilter& filter, int limit,
                                          const std::optional<std::string>& cursor);

// The one task whose id begins so; kNotFound without one, kInvalidArgument with several.
[[nodiscard]] Result<TaskId> task_with_prefix(TaskQueue& queue, const std::string& prefix);

}  // namespace drover::cli
