// Certificates for tests of TLS.
#pragma once

#include <string>

namespace drover::test {

// A fresh key and a self-signed certificate for `host` (a name or an IPv4 address), valid for a day, as PEM files.
void write_test_certificate(const std::string& host, const std::string& certificate_file, const std::string& key_file);

}  // namespace drover::test
