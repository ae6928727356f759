// Calls of a Drover server: a request as JSON, the answer as the type that it must be, or the error that it tells of.
// Shared by what stands for the server here (remote_queue.h, remote_administration.h).
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/json_reader.h"
#include "base/try.h"
#include "net/http_client.h"
#include "remote/remote_options.h"
#include "remote/seen_store.h"
#include "remote/server_url.h"
#include "wire/read.h"
#include "wire/write.h"

namespace drover::remote {

using Query = std::vector<std::pair<std::string, std::string>>;
[[nodiscard]] std::string with_query(std::string path, const Query& query);

// {"NAME": [..]}
template <class T>
struct Listed {
  std::string_view name;
  std::vector<T> items;
};
template <class T>
[[nodiscard]] Status read_json(std::string_view json, Listed<T>& out) {
  json::Reader in(json);
  in.need(out.name, out.items);
  return in.finish();
}

// {"NAME": VALUE}
template <class T>
struct Named {
  std::string_view name;
  T value{};
};
template <class T>
[[nodiscard]] Status read_json(std::string_view json, Named<T>& out) {
  json::Reader in(json);
  in.need(out.name, out.value);
  return in.finish();
}

class Body {
 public:
  Body() { out_.begin_object(); }
  Body& text(std::string_view name, std::string_view value) {
    out_.key(name).string(value);
    return *this;
  }
  Body& number(std::string_view name, std::int64_t value) {
    out_.key(name).number(value);
    return *this;
  }
  Body& boolean(std::string_view name, bool value) {
    out_.key(name).boolean(value);
    return *this;
  }
  Body& json(std::string_view name, std::string_view value) {
    out_.key(name).raw(value.empty() ? " " : value);  // no text is no JSON, as the server will say
    return *this;
  }
  template <class Items>
  Body& list(std::string_view name, const Items& items) {
    out_.key(name).begin_array();
    for (const auto& item : items) out_.raw(to_json(item));
    out_.end_array();
    return *this;
  }
  [[nodiscard]] std::string take() {
    out_.end_object();
    return std::move(out_).take();
  }

 private:
  json::Writer out_;
};

[[nodiscard]] std::unexpected<Error> unreadable(const Error& error);

// Whether a call may change something that somebody waits for. What is asked by GET never does.
enum class Effect : std::uint8_t { kChange, kNone };

// Safe from any thread. What waits ends when it goes.
class ServerCalls {
 public:
  // kInvalidArgument: the URL is none of a server. Nothing is asked yet.
  [[nodiscard]] static Result<std::unique_ptr<ServerCalls>> open(RemoteOptions options);
  ServerCalls(std::vector<ServerAddress> addresses, RemoteOptions options);

  [[nodiscard]] Millis timeout() const { return options_.timeout; }
  // As the latest answer told; empty if none did.
  [[nodiscard]] std::string store_id() const { return seen_.mark().value_or(StoreMark()).store; }
  [[nodiscard]] const Interrupt& leaving() const { return leaving_; }
  // How many calls so far may have changed something.
  [[nodiscard]] std::uint64_t changes() const { return changes_.load(); }
  void count_change() { ++changes_; }

  // A good answer, or the error that the server tells of.
  [[nodiscard]] Result<HttpResponse> exchange(const std::string& method, std::string target, std::string body,
                                              Millis timeout, HttpHeaders headers, Effect effect = Effect::kChange);
  [[nodiscard]] Result<std::string> fetch(const std::string& method, std::string target, std::string body = {});

  template <class T>
  [[nodiscard]] Status ask_into(T& out, const std::string& method, std::string target, std::string body, Millis timeout,
                                HttpHeaders headers, Effect effect = Effect::kChange) {
    const auto answer = TRY(exchange(method, std::move(target), std::move(body), timeout, std::move(headers), effect));
    if (const Status read = read_json(answer.body, out); !read) return unreadable(read.error());
    return {};
  }

  template <class T>
  [[nodiscard]] Result<T> ask(const std::string& method, std::string target, std::string body = {},
                              Effect effect = Effect::kChange) {
    T value{};
    TRY(ask_into(value, method, std::move(target), std::move(body), options_.timeout, {}, effect));
    return value;
  }

  template <class T>
  [[nodiscard]] Result<std::vector<T>> ask_list(std::string_view name, const std::string& method, std::string target,
                                                std::string body = {}, Effect effect = Effect::kChange) {
    Listed<T> listed{.name = name, .items = {}};
    TRY(ask_into(listed, method, std::move(target), std::move(body), options_.timeout, {}, effect));
    return std::move(listed.items);
  }

  template <class T>
  [[nodiscard]] Result<T> ask_value(std::string_view name, const std::string& method, std::string target,
                                    std::string body = {}) {
    Named<T> named{.name = name};
    TRY(ask_into(named, method, std::move(target), std::move(body), options_.timeout, {}));
    return named.value;
  }

  [[nodiscard]] Status tell(const std::string& method, std::string target, std::string body = {},
                            Effect effect = Effect::kChange) {
    TRY(exchange(method, std::move(target), std::move(body), options_.timeout, {}, effect));
    return {};
  }

 private:
  struct Server {
    explicit Server(ServerAddress address) : client(std::move(address.endpoint)), host(std::move(address.host)) {}

    HttpClient client;
    const std::string host;
  };

  [[nodiscard]] Result<HttpResponse> exchange_with_one(HttpRequest request, Millis timeout);

  std::vector<std::unique_ptr<Server>> servers_;
  std::atomic<std::size_t> current_{0};
  const RemoteOptions options_;
  SeenStore seen_{options_.marks};
  const Interrupt leaving_;
  std::atomic<std::uint64_t> changes_{0};
};

}  // namespace drover::remote
