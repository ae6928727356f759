// drover token: the tokens by which a server knows its callers.
#include <fmt/format.h>

#include "base/clock.h"
#include "cli/display_text.h"
#include "cli/listing.h"
#include "cli/project.h"
#include "cli/task_view.h"
#include "cli/verb.h"
#include "cli/who.h"

namespace drover::cli {
namespace {

struct TokenCreateOptions {
  Role role = Role::kViewer;
  std::optional<std::string> owner;
  std::vector<std::string> queues;
  std::optional<Millis> expires;  // from now on
  std::string note;
  Format format = Format::kAuto;
};

struct TokenListOptions {
  Format format = Format::kAuto;
};

struct TokenRevokeOptions {
  std::string id;
  Format format = Format::kAuto;
};

void define(Verb& verb, TokenCreateOptions& options) {
  verb.value("--role", "viewer|producer|worker|operator|admin", &options.role, read_role, "what it allows").required();
  verb.value("--owner", "O", &options.owner, read_name,
             "viewer, producer: whose tasks it may use; without it, those of the owner named default");
  verb.list("--queue", "Q", &options.queues, read_name, "worker: a queue that it may serve; default: all");
  verb.value("--expires", "D", &options.expires, read_time_limit, "how long it is valid; default: until revoked");
  verb.value("--note", "TEXT", &options.note, read_text, "what it is for; shown in the list");
  verb.json(&options.format, "print the token and its record as JSON");
}

void define(Verb& verb, TokenListOptions& options) {
  verb.formats(&options.format, "print a JSON array of tokens");
}

void define(Verb& verb, TokenRevokeOptions& options) {
  verb.value("TOKEN", "", &options.id, read_token_id, "its id").required();
  verb.json(&options.format, "print its record as JSON");
}

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

int run(const TokenCreateOptions& options, Context& context) {
  const auto opened = open_chosen_store(context);
  if (!opened) return context.fail(opened.error());
  NewToken order{.role = options.role, .owner = options.owner, .queues = options.queues, .note = options.note};
  order.expires_in = options.expires;
  order.by = who();
  const auto created = (*opened)->administration().create_token(order);
  if (!created) return context.fail(created.error());
  context.out.line(options.format == Format::kJson ? to_json(*created) : created->text);
  context.say(fmt::format("token {} ({}{}): save it now, it is not shown again", created->info.id,
                          role_text(created->info),
                          options.expires ? ", valid for " + format_duration(*options.expires) : ""));
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

}  // namespace

void add_token(Verbs& verbs) {
  Verbs& token =
      verbs.family({.name = "token",
                    .summary = "Create, list and revoke the tokens that identify callers to a server",
                    .footer =
                        R"(A token has a role: viewer, producer, worker, operator or admin. Through a server, these
commands need an admin's token; create the first one directly on the store.

Examples:
  drover token create --role producer --owner team-a
  drover token list)"});
  token.add<TokenCreateOptions>(
      {.name = "create",
       .summary = "Create a token and print it, once",
       .footer =
           R"(The token alone goes to stdout. Only its SHA-256 is stored: if you lose a token, revoke it and create another.

Examples:
  drover token create --role producer --owner team-a --note 'nightly build'
  (umask 077; drover token create --role worker --queue eng --expires 30d > worker.token))"},
      define, run);
  token.add<TokenListOptions>({.name = "list",
                               .summary = "List the tokens, newest first",
                               .footer =
                                   R"(Revoked and expired tokens stay in the list for 30 days.

Piped, it prints tab-separated lines: id, role, owner, queues, state (active, expired, revoked), created_at, created_by, expires_at,
last_used_at, revoked_at, revoked_by, note.

Examples:
  drover token list --json)"},
                              define, run);
  token.add<TokenRevokeOptions>(
      {.name = "revoke",
       .summary = "Revoke a token",
       .footer =
           R"(Servers refuse it within seconds. Give its id, as `token list` shows it, or the whole token.

Examples:
  drover token revoke 4fQ1mZ8x)"},
      define, run);
}

}  // namespace drover::cli
