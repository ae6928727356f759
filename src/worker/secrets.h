// Values that must never be seen in what an agent prints or says: those of the variables that its profile lets through.
// Agents print their environment, so everything passes here before it is kept, read or sent.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace drover {

class Secrets {
 public:
  Secrets() = default;
  // Of the variables with these names in an environment of NAME=VALUE. A value of less than 8 bytes is none.
  Secrets(const std::vector<std::string>& names, const std::vector<std::string>& environment);

  // With ***NAME*** instead of each value, as it is or as JSON writes it.
  [[nodiscard]] std::string hide(std::string_view text) const;
  // How much of the text, from its beginning, is no part of a value whose rest may be still to come.
  [[nodiscard]] std::size_t settled_bytes(std::string_view text) const;

 private:
  struct Secret {
    std::string value;
    std::string shown;
  };
  struct Found {
    std::size_t at = std::string_view::npos;
    const Secret* secret = nullptr;
  };
  [[nodiscard]] Found first_in(std::string_view text) const;

  std::vector<Secret> secrets_;  // the longest value first
};

// A stream of bytes that comes in pieces. What may be the beginning of a secret is held back until its rest has come.
class SecretStream {
 public:
  [[nodiscard]] std::string feed(const Secrets& secrets, std::string_view bytes);
  // No more comes.
  [[nodiscard]] std::string finish(const Secrets& secrets);

 private:
  std::string held_;
};

}  // namespace drover
