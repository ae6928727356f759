// drover doctor: looks for what is wrong, and says how to fix it.
#include <fmt/format.h>

#include <algorithm>

#include "base/json.h"
#include "cli/display_text.h"
#include "cli/doctor/line.h"
#include "cli/project.h"
#include "cli/table.h"
#include "cli/verb.h"

namespace drover::cli {
namespace {

struct DoctorOptions {
  Format format = Format::kAuto;
};

void define(Verb& verb, DoctorOptions& options) {
  verb.json(&options.format, R"(print {"verdict", "checks"})");
}

constexpr std::size_t kLevelWidth = 6;
constexpr std::size_t kCheckWidth = 20;

DoctorLevel worst_of(const DoctorLines& lines) {
  DoctorLevel worst = DoctorLevel::kOk;
  for (const DoctorLine& line : lines) worst = std::max(worst, line.level);
  return worst;
}

Paint paint_of(DoctorLevel level) {
  switch (level) {
    case DoctorLevel::kOk:
      return Paint::kGreen;
    case DoctorLevel::kWarn:
      return Paint::kYellow;
    case DoctorLevel::kFail:
      return Paint::kRed;
  }
  return Paint::kNone;
}

std::string fix_of_opening(const Error& error) {
  if (error.code == ErrorCode::kSchemaTooNew) return "install the newer drover that others use on this store";
  if (error.code == ErrorCode::kStoreDamaged) return "drover fsck --repair; if that does not help, restore a backup";
  return "fix what fails above, or name another store: --store URL";
}

// Opens the store if that is possible; why it is not is a line.
std::unique_ptr<OpenedQueue> open_for_doctor(const Context& context, DoctorLines& lines) {
  auto opened = open_chosen_store(context);
  if (opened) {
    lines.push_back({.check = "opens",
                     .detail = (*opened)->is_remote()
                                   ? "through a server; where that runs, doctor checks its location, too"
                                   : "yes, its schema is current"});
    return *std::move(opened);
  }
  lines.push_back({.level = DoctorLevel::kFail,
                   .check = "opens",
                   .detail = opened.error().message,
                   .fix = fix_of_opening(opened.error())});
  return nullptr;
}

void check_location(const std::string& url, const Context& context, DoctorLines& lines) {
  if (!is_server(url)) return check_store_location(url, lines);
  // One that cannot be read is told of where it is used.
  check_servers(url, token_of(context).value_or(""), lines);
}

DoctorLines examine(const Context& context) {
  DoctorLines lines;
  std::unique_ptr<OpenedQueue> opened;
  if (const auto url = choose_store(context); url) {
    check_location(*url, context, lines);
    opened = open_for_doctor(context, lines);
  } else {
    lines.push_back({.level = DoctorLevel::kFail,
                     .check = "opens",
                     .detail = url.error().message,
                     .fix = "name a store: --store URL"});
  }
  if (opened) check_store(*opened, lines);
  check_project(context, opened.get(), lines);
  if (opened) check_fleet(*opened, lines);
  return lines;
}

std::string lines_json(const DoctorLines& lines) {
  json::Writer out;
  out.begin_object().key("verdict").string(name_of(worst_of(lines))).key("checks").begin_array();
  for (const DoctorLine& line : lines) {
    out.begin_object().key("level").string(name_of(line.level)).key("check").string(line.check);
    out.key("subject").string(line.subject).key("detail").string(line.detail).key("fix").string(line.fix).end_object();
  }
  out.end_array().end_object();
  return std::move(out).take();
}

Table lines_table(const DoctorLines& lines) {
  Table table({{"LEVEL"}, {"CHECK"}, {"SUBJECT"}, {"DETAIL"}, {"FIX"}});
  for (const DoctorLine& line : lines) {
    table.add({std::string(name_of(line.level)), line.check, line.subject, line.detail, line.fix});
  }
  return table;
}

// For people: the fix stands under what it mends. It is not broken into lines, so that it can be copied.
std::string lines_text(const DoctorLines& lines, const Look& look) {
  const auto width = static_cast<std::size_t>(look.width);
  std::string text;
  for (const DoctorLine& line : lines) {
    const std::string found = line.subject.empty() ? line.detail : line.subject + ": " + line.detail;
    text += painted(fit_left(name_of(line.level), kLevelWidth), paint_of(line.level), look);
    text += fit_left(line.check, kCheckWidth) + wrapped(one_line(found), kLevelWidth + kCheckWidth, width) + "\n";
    if (line.fix.empty()) continue;
    text.append(kLevelWidth, ' ');
    text += painted("fix: " + one_line(line.fix), Paint::kBold, look) + "\n";
  }
  return text;
}

int run(const DoctorOptions& options, Context& context) {
  const DoctorLines lines = examine(context);
  if (options.format == Format::kJson) {
    context.out.line(lines_json(lines));
  } else if (context.out.look().terminal) {
    context.out.write(lines_text(lines, context.out.look()));
  } else {
    context.out.write(lines_table(lines).render(context.out.look()));
  }
  return worst_of(lines) == DoctorLevel::kFail ? kExitError : kExitOk;
}

}  // namespace

void add_doctor(Verbs& verbs) {
  verbs.add<DoctorOptions>(
      {.name = "doctor",
       .summary = "Look for problems, and say how to fix them",
       .footer =
           R"(Each line has a level (ok, warn or fail), the check, what it found, and a command that fixes it. Exits with 1 if a check
fails.

Piped, it prints tab-separated lines: level, check, subject, detail, fix.

Examples:
  drover doctor
  drover doctor --json)"},
      define, run);
}

}  // namespace drover::cli
