// `drover serve` in front of a sandbox's store, which may be killed and started again where it was.
#pragma once

#include <csignal>
#include <memory>
#include <string>

#include "e2e/sandbox.h"

namespace drover::e2e {

// Where a `drover serve` that was just started says that it is.
inline std::string address_of(Process& server) {
  const Millis end = mono_now() + kHangs;
  std::string said;
  while (mono_now() < end && !server.wait(Millis{5})) {
    said = server.errors();
    if (said.find("; Ctrl-C") != std::string::npos) break;
  }
  const std::size_t begin = said.find("://") + 3;
  return said.substr(begin, said.find(';', begin) - begin);
}

class ServerProcess {
 public:
  // Without a port the kernel chooses one the first time; it stays the same.
  explicit ServerProcess(Sandbox& sandbox, std::string listen = "127.0.0.1:0", Arguments more = {})
      : sandbox_(sandbox), address_(std::move(listen)), more_(std::move(more)) {
    start();
  }

  void start() {
    sandbox_.set("DROVER_STORE", sandbox_.store_url());
    Arguments arguments{"serve", "--listen", address_};
    arguments.insert(arguments.end(), more_.begin(), more_.end());
    process_ = sandbox_.start(arguments);
    address_ = address_of(*process_);
  }
  void kill() {
    process_->signal(SIGKILL);
    static_cast<void>(process_->wait(kHangs));
  }
  void restart() {
    kill();
    start();
  }

  [[nodiscard]] std::string url() const { return "http://" + address_; }
  [[nodiscard]] Process& process() { return *process_; }

 private:
  Sandbox& sandbox_;
  std::string address_;
  Arguments more_;
  std::unique_ptr<Process> process_;
};

// A new token of that role, made at the store itself.
inline std::string create_token(Sandbox& sandbox, const Arguments& options) {
  sandbox.set("DROVER_STORE", sandbox.store_url());
  Arguments arguments{"token", "create", "--role"};
  arguments.insert(arguments.end(), options.begin(), options.end());
  std::string token = sandbox.must(arguments);
  token.pop_back();
  return token;
}

}  // namespace drover::e2e
