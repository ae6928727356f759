// drover top: the queues, live.
#include "base/clock.h"
#include "base/try.h"
#include "cli/project.h"
#include "cli/top/session.h"
#include "cli/verb.h"
#include "cli/watch.h"
#include "cli/who.h"
#include "net/url.h"

namespace drover::cli {
namespace {

struct TopOptions {
  bool once = false;
  Millis interval{1'000};
};

// A screen is not worth drawing more often.
Result<Millis> read_interval(std::string_view text) {
  constexpr Millis kFastest{250};
  auto interval = read_time_limit(text);
  if (interval && *interval < kFastest) return fail(ErrorCode::kInvalidArgument, "expected at least 250ms");
  return interval;
}

void define(Verb& verb, TopOptions& options) {
  verb.flag("--once", &options.once, true, "print one screen and exit");
  verb.value("--interval", "D", &options.interval, read_interval, "how often to refresh; default 1s, at least 250ms");
}

constexpr Millis kDrawEvery{250};

Status run_live(TopSession& session, Look look, Millis interval) {
  auto screen = TRY(Screen::take());
  const Interrupts interrupts;
  MonoTime next_look{};
  Screen::Size size{};
  while (Interrupts::count() == 0) {
    const MonoTime now = system_clock().mono();
    if (now >= next_look || session.wants_look()) {
      static_cast<void>(session.look());  // the picture tells
      next_look = now + interval;
    }
    const Screen::Size size_now = Screen::size();
    if (size_now.columns != size.columns || size_now.rows != size.rows) screen.forget();
    size = size_now;
    look.width = size.columns;
    screen.show(session.lines(look, size.rows));
    for (const Key& key : screen.wait_for_keys(std::min(kDrawEvery, interval))) {
      if (!session.press(key, look)) return {};
    }
  }
  return {};
}

int run(const TopOptions& options, Context& context) {
  const auto url = choose_store(context);
  if (!url) return context.fail(url.error());
  const auto opened = open_chosen_store(context);
  if (!opened) return context.fail(opened.error());
  TopSession session((*opened)->queue(), without_credentials(*url), who());
  if (options.once) {
    if (const Status looked = session.look(); !looked) return context.fail(looked.error());
    Look look = context.out.look();
    look.terminal = true;  // a picture, whoever reads it
    context.out.write(draw_once(session.data(), look));
    return kExitOk;
  }
  const Status ended = run_live(session, context.out.look(), options.interval);
  return ended ? kExitOk : context.fail(ended.error());
}

}  // namespace

void add_top(Verbs& verbs) {
  verbs.add<TopOptions>(
      {.name = "top",
       .summary = "Watch the queues live: rates, running tasks, workers, gates, alerts",
       .footer =
           R"(Keys: tab panel, arrows or j k line, s sort, / filter, p pause or resume a queue, c cancel a task, enter or l its log, r retry,
? help, q quit.

Examples:
  drover top
  drover top --once)"},
      define, run);
}

}  // namespace drover::cli
