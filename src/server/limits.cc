#include "server/limits.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>

namespace drover::server {
namespace {

// Tokens are secrets, and are not kept. Nobody can choose one to meet another: only who knows it may use it at all.
std::string key_of_token(std::string_view token) {
  return "token " + std::to_string(std::hash<std::string_view>{}(token));
}

}  // namespace

std::optional<Millis> Limiter::refuse(std::string_view peer, std::string_view token, MonoTime now) {
  const std::string neighbours = neighbourhood(peer);
  const auto known = token.empty() ? buckets_.end() : buckets_.find(key_of_token(token));
  const bool is_known = known != buckets_.end() && known->second.is_good;
  if (!token.empty() && !is_known) {
    if (const auto wait = wait_of(bucket("failures " + neighbours, of_peer(neighbours, limits_.failures), now)))
      return wait;
  }
  Bucket& requests = is_known ? bucket(key_of_token(token), limits_.by_token, now)
                              : bucket("requests " + neighbours, of_peer(neighbours, limits_.without_token), now);
  if (const auto wait = wait_of(requests)) return wait;
  requests.tokens -= 1;
  return std::nullopt;
}

void Limiter::note_failure(std::string_view peer, MonoTime now) {
  const std::string neighbours = neighbourhood(peer);
  Bucket& failures = bucket("failures " + neighbours, of_peer(neighbours, limits_.failures), now);
  failures.tokens = std::max(failures.tokens - 1, 0.0);
}

void Limiter::note_success(std::string_view token, MonoTime now) {
  bucket(key_of_token(token), limits_.by_token, now).is_good = true;
}

Limiter::Bucket& Limiter::bucket(const std::string& key, const Allowance& allowance, MonoTime now) {
  if (const auto found = buckets_.find(key); found != buckets_.end()) {
    fill(found->second, now);
    return found->second;
  }
  if (buckets_.size() >= limits_.callers_max) forget_full(now);
  // Those for whom there is no room share one.
  const std::string shared_key = buckets_.size() < limits_.callers_max ? key : key.substr(0, key.find(' '));
  const auto [made, is_new] =
      buckets_.try_emplace(shared_key, Bucket{.tokens = allowance.burst, .filled_at = now, .allowance = allowance});
  if (!is_new) fill(made->second, now);
  return made->second;
}

Allowance Limiter::of_peer(std::string_view neighbours, Allowance allowance) const {
  if (neighbours != kLocalPeers) return allowance;
  return {.per_second = allowance.per_second * limits_.local_factor, .burst = allowance.burst * limits_.local_factor};
}

void Limiter::fill(Bucket& bucket, MonoTime now) {
  const double passed_s = static_cast<double>((now - bucket.filled_at).count()) / 1000.0;
  bucket.tokens = std::min(bucket.allowance.burst, bucket.tokens + passed_s * bucket.allowance.per_second);
  bucket.filled_at = now;
}

// A full bucket is as good as a new one.
void Limiter::forget_full(MonoTime now) {
  for (auto entry = buckets_.begin(); entry != buckets_.end();) {
    fill(entry->second, now);
    entry = entry->second.tokens >= entry->second.allowance.burst ? buckets_.erase(entry) : std::next(entry);
  }
}

std::optional<Millis> Limiter::wait_of(const Bucket& bucket) {
  if (bucket.tokens >= 1) return std::nullopt;
  return Millis{static_cast<std::int64_t>(std::ceil((1 - bucket.tokens) / bucket.allowance.per_second * 1000))};
}

}  // namespace drover::server
