// What a server answers to those who ask whether it is ready.
#pragma once

#include "e2e/server_process.h"
#include "net/http_client.h"
#include "remote/server_url.h"
#include "support/must.h"

namespace drover::e2e {

// Asks until the answer has that status, which it has not at once: an answer is good for a while.
inline HttpResponse ready_with(const ServerProcess& server, int status) {
  HttpClient client(test::must(parse_server_url(server.url())).endpoint);
  const auto ask = [&] {
    return test::must(
        client.exchange({.method = "GET", .target = "/readyz", .headers = {{"host", "localhost"}}}, kHangs));
  };
  const Millis end = mono_now() + kHangs;
  HttpResponse response = ask();
  while (response.status != status && mono_now() < end) response = ask();
  return response;
}

}  // namespace drover::e2e
