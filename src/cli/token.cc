// drover token: the tokens by which a server knows its callers.
#include <fmt/format.h>

#include "base/clock.h"
#include "cli/display_text.h"
#include "cli/listing.h"
#include "cli/project.h"
#include "cli/task_view.h"
#include "cli/verbs.h"
#include "cli/who.h"

namespace drover::cli {
namespace {

// "producer of team-a", "worker of eng, ops".
std::string role_text(const TokenInfo& token) {
  std::string text(name_of(token.role));
  if (token.owner) text += " of " + *token.owner;
  if (!token.queues.empty()) text += fmt::format(" of {}", fmt::join(token.queues, ", "));
  return text;
}

Cell state_cell(const TokenInfo& token, Time now) {
  const TokenState state = state_of(token, now);
  return {std::string(name_of(state)), state == TokenState::kActive ? Paint::kGreen : Paint::kDim};
}

// For people how long ago, or how long from now; for programs when.
Cell time_cell(const std::optional<Time>& time, Time now) {
  if (!time) return {std::string()};
  return {coarse_duration(*time < now ? now - *time : *time - now), format_time(*time)};
}

Table token_table(std::span<const TokenInfo> tokens, Time now) {
  Table table({{"TOKEN"},
               {"ROLE"},
               {"OWNER", Fit::kElastic},
               {"QUEUES", Fit::kElastic},
               {"STATE"},
               {"AGE"},
               {"BY", Fit::kHidden},
               {"EXPIRES IN"},
               {"LAST USED"},
               {"REVOKED AT", Fit::kHidden},
               {"REVOKED BY", Fit::kHidden},
               {"NOTE", Fit::kRest}});
  for (const TokenInfo& token : tokens) {
    const bool active = state_of(token, now) == TokenState::kActive;
    Cell expires = time_cell(token.expires_at, now);
    if (!active) expires.shown.clear();
    table.add({token.id, std::string(name_of(token.role)), token.owner.value_or(""),
               fmt::format("{}", fmt::join(token.queues, ",")), state_cell(token, now),
               time_cell(token.created_at, now), token.created_by, expires, time_cell(token.last_used_at, now),
               time_cell(token.revoked_at, now), token.revoked_by, token.note});
  }
  return table;
}

}  // namespace

int run(const TokenCreateOptions& options, Context& context) {
  const auto opened = open_chosen_store(context);
  if (!opened) return context.fail(opened.error());
  NewToken order{.role = options.role, .owner = options.owner, .queues = options.queues, .note = options.note};
  order.expires_in = options.expires;
  order.by = who();
  const auto created = (*opened)->administration().create_token(order);
  if (!created) return context.fail(created.error());
  context.out.line(options.format == Format::kJson ? to_json(*created) : created->text);
  context.say(fmt::format("token {} ({}{}) is shown this once", created->info.id, role_text(created->info),
                          options.expires ? ", good for " + format_duration(*options.expires) : ""));
  return kExitOk;
}

int run(const TokenListOptions& options, Context& context) {
  const auto opened = open_chosen_store(context);
  if (!opened) return context.fail(opened.error());
  const auto tokens = (*opened)->administration().tokens();
  if (!tokens) return context.fail(tokens.error());
  print(Listing<TokenInfo>{.items = *tokens,
                           .nothing = "no tokens",
                           .name = [](const TokenInfo& token) { return token.id; },
                           .table = [&] { return token_table(*tokens, system_clock().wall()); }},
        options.format, context);
  return kExitOk;
}

int run(const TokenRevokeOptions& options, Context& context) {
  const auto opened = open_chosen_store(context);
  if (!opened) return context.fail(opened.error());
  const auto revoked = (*opened)->administration().revoke_token(options.id, who());
  if (!revoked) return context.fail(revoked.error());
  if (options.format == Format::kJson) context.out.line(to_json(*revoked));
  context.say(fmt::format("token {} is revoked", revoked->id));
  return kExitOk;
}

}  // namespace drover::cli
