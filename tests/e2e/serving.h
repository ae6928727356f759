// A `drover serve` in front of the sandbox's store.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "e2e/e2e_test.h"
#include "e2e/server_process.h"

namespace drover::e2e {

class ServingTest : public E2eTest {
 protected:
  // The address is that of the first one if it was started before.
  std::unique_ptr<Process> start_server(const Arguments& options = {}) {
    sandbox.set("DROVER_STORE", sandbox.store_url());
    Arguments arguments{"serve", "--listen", address_.empty() ? "127.0.0.1:0" : address_};
    arguments.insert(arguments.end(), options.begin(), options.end());
    auto server = sandbox.start(arguments);
    address_ = address_of(*server);
    return server;
  }
  // On the store itself.
  std::string create_token(const Arguments& options) {
    Arguments arguments{"token", "create", "--role"};
    arguments.insert(arguments.end(), options.begin(), options.end());
    std::string token = sandbox.must(arguments);
    token.pop_back();
    return token;
  }
  [[nodiscard]] const std::string& address() const { return address_; }
  [[nodiscard]] std::string port() const { return address_.substr(address_.rfind(':') + 1); }
  [[nodiscard]] std::string url() const { return "http://" + address_; }
  // Everything from now on goes through the server.
  void use_server(const std::string& token) { use_server(url(), token); }
  void use_server(const std::string& url, const std::string& token) {
    sandbox.set("DROVER_STORE", url);
    sandbox.set("DROVER_TOKEN", token);
  }

 private:
  std::string address_;
};

}  // namespace drover::e2e
