#include "support/test_certificate.h"

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <cstdio>
#include <memory>
#include <stdexcept>

namespace drover::test {
namespace {

template <auto free>
struct FreeWith {
  template <class T>
  void operator()(T* object) const {
    free(object);
  }
};
using Key = std::unique_ptr<EVP_PKEY, FreeWith<EVP_PKEY_free>>;
using Certificate = std::unique_ptr<X509, FreeWith<X509_free>>;
using Extension = std::unique_ptr<X509_EXTENSION, FreeWith<X509_EXTENSION_free>>;
using File = std::unique_ptr<std::FILE, FreeWith<std::fclose>>;

constexpr long kDaySec = 24 * 60 * 60;

void require(bool worked, const char* what) {
  if (!worked) throw std::runtime_error(std::string("test certificate: ") + what);
}

void add_extension(X509* certificate, int kind, const std::string& value) {
  const Extension extension(X509V3_EXT_conf_nid(nullptr, nullptr, kind, value.c_str()));
  require(extension != nullptr && X509_add_ext(certificate, extension.get(), -1) == 1, value.c_str());
}

bool is_ipv4(const std::string& host) {
  return host.find_first_not_of("0123456789.") == std::string::npos;
}

Certificate self_signed(const std::string& host, EVP_PKEY* key) {
  Certificate certificate(X509_new());
  require(certificate != nullptr, "X509_new");
  X509_set_version(certificate.get(), X509_VERSION_3);
  ASN1_INTEGER_set(X509_get_serialNumber(certificate.get()), 1);
  X509_gmtime_adj(X509_getm_notBefore(certificate.get()), -kDaySec);
  X509_gmtime_adj(X509_getm_notAfter(certificate.get()), kDaySec);
  X509_set_pubkey(certificate.get(), key);
  X509_NAME* name = X509_get_subject_name(certificate.get());
  const auto* text = reinterpret_cast<const unsigned char*>("drover test");
  require(X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, text, -1, -1, 0) == 1, "its name");
  X509_set_issuer_name(certificate.get(), name);
  add_extension(certificate.get(), NID_basic_constraints, "critical,CA:TRUE");
  add_extension(certificate.get(), NID_subject_alt_name, (is_ipv4(host) ? "IP:" : "DNS:") + host);
  require(X509_sign(certificate.get(), key, EVP_sha256()) > 0, "X509_sign");
  return certificate;
}

}  // namespace

void write_test_certificate(const std::string& host, const std::string& certificate_file, const std::string& key_file) {
  const Key key(EVP_EC_gen("P-256"));
  require(key != nullptr, "EVP_EC_gen");
  const Certificate certificate = self_signed(host, key.get());
  const File certificate_out(std::fopen(certificate_file.c_str(), "w"));
  require(certificate_out != nullptr && PEM_write_X509(certificate_out.get(), certificate.get()) == 1, "writing it");
  const File key_out(std::fopen(key_file.c_str(), "w"));
  require(
      key_out != nullptr && PEM_write_PrivateKey(key_out.get(), key.get(), nullptr, nullptr, 0, nullptr, nullptr) == 1,
      "writing its key");
}

}  // namespace drover::test
