// How much one caller may ask: requests by token, or by address without one, and failed sign-ins by address.
//
// On the loop's thread only. A caller is a bucket that fills with time; the table of them is bounded.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/clock.h"
#include "net/neighbourhood.h"

namespace drover::server {

struct Allowance {
  double per_second = 0;
  double burst = 0;
};

struct RequestLimits {
  Allowance by_token{.per_second = 100'000, .burst = 200'000};
  // By address: requests without a token, and with one that was not shown before.
  Allowance without_token{.per_second = 200, .burst = 2'000};
  // By address: tokens that are none.
  Allowance failures{.per_second = 1.0 / 6, .burst = 10};
  // All callers on this machine are one address, and nobody's neighbours.
  double local_factor = 1'000;
  std::size_t callers_max = 10'000;
};

class Limiter {
 public:
  explicit Limiter(RequestLimits limits) : limits_(limits) {}

  // How long to wait before asking again; nothing if the request may pass. `token` is empty if there is none. A token
  // that was good before passes whatever its neighbours at the same address try.
  [[nodiscard]] std::optional<Millis> refuse(std::string_view peer, std::string_view token, MonoTime now);
  // What became of a request with a token.
  void note_failure(std::string_view peer, MonoTime now);
  void note_success(std::string_view token, MonoTime now);
  [[nodiscard]] std::size_t callers() const { return buckets_.size(); }

 private:
  struct Bucket {
    double tokens = 0;
    MonoTime filled_at{};
    Allowance allowance;
    bool is_good = false;  // a token that was let in
  };

  Bucket& bucket(const std::string& key, const Allowance& allowance, MonoTime now);
  [[nodiscard]] Allowance of_peer(std::string_view peer, Allowance allowance) const;
  void forget_full(MonoTime now);
  static void fill(Bucket& bucket, MonoTime now);
  [[nodiscard]] static std::optional<Millis> wait_of(const Bucket& bucket);

  const RequestLimits limits_;
  std::unordered_map<std::string, Bucket> buckets_;
};

}  // namespace drover::server
