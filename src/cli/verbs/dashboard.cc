// drover dashboard: a link that signs a browser in.
#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>

#include <cstring>

#include "base/try.h"
#include "cli/files.h"
#include "cli/private_file.h"
#include "cli/project.h"
#include "cli/served_note.h"
#include "cli/user_token.h"
#include "cli/verb.h"
#include "engine/signins.h"
#include "server/frontage.h"

namespace drover::cli {
namespace {

constexpr std::string_view kUsualServer = "http://127.0.0.1:7711";

struct DashboardOptions {
  std::optional<server::PublicUrl> server;
  bool open = false;
  Format format = Format::kAuto;
};

void define(Verb& verb, DashboardOptions& options) {
  verb.value("--server", "URL", &options.server, server::parse_public_url,
             "where the server of this store is, if it runs elsewhere or as another user");
  verb.flag("--open", &options.open, true, "open the link in a browser, too (xdg-open)");
  verb.json(&options.format, "print the link, its code and when it expires as JSON");
}

std::string url_of(const server::PublicUrl& url) {
  return fmt::format("{}://{}{}", url.scheme, url.host, url.path);
}

// The server says where it is, because it knows its public URL.
Result<SigninCode> ask_server(OpenedQueue& opened, const DashboardOptions& options) {
  auto code = TRY(opened.administration().create_signin_code({}));
  if (options.server) code.url = server::signin_link(url_of(*options.server), code.code);
  if (code.url.empty()) {
    return fail(ErrorCode::kInvalidArgument,
                "this server listens on Unix sockets only, which browsers cannot use; name another way with --server");
  }
  return code;
}

// Anyone who can open the store can do everything with it, and so can that user's browser.
Result<SigninCode> ask_store(OpenedQueue& opened, const std::string& url, const DashboardOptions& options,
                             const Environment& environment) {
  const auto noted = TRY(ServedNote::find(url, environment));
  TokenBook tokens(opened.store(), system_rng());
  const auto token = TRY(keep_user_token(tokens, url, environment));
  auto code = TRY(SigninBook(tokens, system_rng()).create_code(token.id));
  const std::string server = options.server ? url_of(*options.server) : noted.value_or(std::string(kUsualServer));
  code.url = server::signin_link(server, code.code);
  return code;
}

// A page that leads there. Other users can read the arguments of processes, and must not learn the code.
Result<std::filesystem::path> write_redirect(const std::string& link, const Environment& environment) {
  const auto folder = TRY(state_folder(environment));
  std::filesystem::path path = folder / "dashboard.html";
  const auto file = TRY(PrivateFile::open_for_writing(path));
  TRY(
      file.write(fmt::format("<!doctype html><meta charset=\"utf-8\"><title>Drover</title>"
                             "<meta http-equiv=\"refresh\" content=\"0;url={}\">\n",
                             link)));
  return path;
}

Status open_browser(const std::string& link, const Environment& environment) {
  const auto page = TRY(write_redirect(link, environment));
  std::string program = "xdg-open";
  std::string argument = "file://" + page.string();
  char* const argv[] = {program.data(), argument.data(), nullptr};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  for (const int fd : {STDOUT_FILENO, STDERR_FILENO}) {
    posix_spawn_file_actions_addopen(&actions, fd, "/dev/null", O_WRONLY, 0);
  }
  pid_t pid = 0;
  const int error = ::posix_spawnp(&pid, program.c_str(), &actions, nullptr, argv, environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error == 0) return {};
  return drover::fail(ErrorCode::kInvalidArgument,
                      fmt::format("cannot run xdg-open ({}); open the link yourself", std::strerror(error)));
}

int run(const DashboardOptions& options, Context& context) {
  const auto url = choose_store(context);
  if (!url) return context.fail(url.error());
  const auto opened = open_chosen_store(context);
  if (!opened) return context.fail(opened.error());
  const auto code =
      (*opened)->is_remote() ? ask_server(**opened, options) : ask_store(**opened, *url, options, context.environment);
  if (!code) return context.fail(code.error());
  context.out.line(options.format == Format::kJson ? to_json(*code) : code->url);
  if (options.format != Format::kJson) context.say("the link signs one browser in, within ten minutes");
  if (!options.open) return kExitOk;
  const Status shown = open_browser(code->url, context.environment);
  return shown ? kExitOk : context.fail(shown.error());
}

}  // namespace

void add_dashboard(Verbs& verbs) {
  verbs.add<DashboardOptions>(
      {.name = "dashboard",
       .summary = "Print a link that signs your browser in to the dashboard",
       .footer =
           R"(The link works once, within ten minutes. With a store it signs you in as admin, at the server that you run for it, or
at http://127.0.0.1:7711 if you run none. With --store http://HOST:PORT it signs you in with the rights of your token.

Examples:
  drover dashboard --open
  drover --store https://queue.example.org dashboard)"},
      define, run);
}

}  // namespace drover::cli
