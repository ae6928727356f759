#include "worker/secrets.h"

#include <algorithm>
#include <utility>

#include "base/json.h"
#include "worker/runner_profile.h"

namespace drover {
namespace {

constexpr std::size_t kSecretBytesMin = 8;

}  // namespace

Secrets::Secrets(const std::vector<std::string>& names, const std::vector<std::string>& environment) {
  for (const std::string& name : names) {
    const std::string value(variable_in(environment, name));
    if (value.size() < kSecretBytesMin) continue;
    const std::string quoted = json::quote(value);
    for (const std::string& written : {value, quoted.substr(1, quoted.size() - 2)}) {
      if (std::ranges::find(secrets_, written, &Secret::value) == secrets_.end())
        secrets_.push_back({written, "***" + name + "***"});
    }
  }
  std::ranges::stable_sort(secrets_, std::greater{}, [](const Secret& secret) { return secret.value.size(); });
}

Secrets::Found Secrets::first_in(std::string_view text) const {
  Found first;
  for (const Secret& secret : secrets_) {
    const std::size_t at = text.find(secret.value);
    if (at < first.at) first = {at, &secret};
  }
  return first;
}

std::string Secrets::hide(std::string_view text) const {
  std::string shown;
  for (;;) {
    const Found found = first_in(text);
    shown.append(text.substr(0, found.at));
    if (found.secret == nullptr) return shown;
    shown.append(found.secret->shown);
    text.remove_prefix(found.at + found.secret->value.size());
  }
}

std::size_t Secrets::settled_bytes(std::string_view text) const {
  std::size_t begun = 0;
  for (const Secret& secret : secrets_) {
    for (std::size_t size = std::min(text.size(), secret.value.size() - 1); size > begun; --size) {
      if (text.ends_with(std::string_view(secret.value).substr(0, size))) begun = size;
    }
  }
  // What has begun may lie inside a whole value: that one waits too.
  const std::size_t settled = text.size() - begun;
  for (std::size_t from = 0; from < settled;) {
    const Found found = first_in(text.substr(from));
    if (found.secret == nullptr || from + found.at >= settled) break;
    if (from + found.at + found.secret->value.size() > settled) return from + found.at;
    from += found.at + found.secret->value.size();
  }
  return settled;
}

std::string SecretStream::feed(const Secrets& secrets, std::string_view bytes) {
  held_.append(bytes);
  const std::size_t settled = secrets.settled_bytes(held_);
  std::string shown = secrets.hide(std::string_view(held_).substr(0, settled));
  held_.erase(0, settled);
  return shown;
}

std::string SecretStream::finish(const Secrets& secrets) {
  return secrets.hide(std::exchange(held_, {}));
}

}  // namespace drover
