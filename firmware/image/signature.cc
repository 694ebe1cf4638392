#include "firmware/image/signature.h"

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>

#include <memory>
#include <vector>

namespace assay::firmware {
namespace {

template <auto function>
struct Deleter {
  template <class T>
  void operator()(T* object) const {
    function(object);
  }
};
using Key = std::unique_ptr<EVP_PKEY, Deleter<EVP_PKEY_free>>;
using Context = std::unique_ptr<EVP_MD_CTX, Deleter<EVP_MD_CTX_free>>;
using Bio = std::unique_ptr<BIO, Deleter<BIO_free>>;

Bio bio_of(std::string_view text) {
  return Bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

// A key with a passphrase is refused: asking for one on the terminal would hang a station.
int no_passphrase(char*, int, int, void*) {
  return -1;
}

bool is_ed25519(const Key& key) {
  return key && EVP_PKEY_get_base_id(key.get()) == EVP_PKEY_ED25519;
}

constexpr std::size_t max_key_bytes = 4096;

Result<Key> private_key(std::string_view pem) {
  Key key;
  if (pem.size() <= max_key_bytes) {
    key.reset(PEM_read_bio_PrivateKey(bio_of(pem).get(), nullptr, no_passphrase, nullptr));
  }
  if (!is_ed25519(key)) {
    return fail(ErrorKind::bad_file, "is no Ed25519 private key without a passphrase", {},
                "make one with  openssl genpkey -algorithm ed25519 -out key.pem");
  }
  return key;
}

Result<Key> public_key_from(std::string_view text) {
  Key key;
  if (text.size() <= max_key_bytes) {
    std::string pem(text);
    if (pem.find("-----BEGIN") == std::string::npos) {
      pem = "-----BEGIN PUBLIC KEY-----\n" + pem + "\n-----END PUBLIC KEY-----\n";
    }
    key.reset(PEM_read_bio_PUBKEY(bio_of(pem).get(), nullptr, no_passphrase, nullptr));
  }
  if (!is_ed25519(key)) {
    return fail(ErrorKind::bad_file, "is no Ed25519 public key", {},
                "openssl pkey -in key.pem -pubout  writes it");
  }
  return key;
}

}  // namespace

Result<FirmwareImage> sign_image(const FirmwareImage& image, std::string_view private_key_pem) {
  const auto key = private_key(private_key_pem);
  if (!key) return std::unexpected(key.error());
  FirmwareImage signed_image = image;
  signed_image.header.signature_bytes = device::image_signature_bytes;
  device::write_image_header(signed_image.header, signed_image.bytes.data());
  signed_image.bytes.resize(signed_image.header.total_bytes());
  const Context context(EVP_MD_CTX_new());
  std::size_t size = device::image_signature_bytes;
  std::uint8_t* signature =
      signed_image.bytes.data() + device::image_header_bytes + image.header.payload_bytes;
  if (EVP_DigestSignInit(context.get(), nullptr, nullptr, nullptr, key->get()) != 1 ||
      EVP_DigestSign(context.get(), signature, &size, signed_image.bytes.data(),
                     device::image_header_bytes) != 1 ||
      size != device::image_signature_bytes) {
    return fail(ErrorKind::io, "OpenSSL did not sign");
  }
  return signed_image;
}

Result<> verify_image(const FirmwareImage& image, std::string_view public_key) {
  const auto key = public_key_from(public_key);
  if (!key) return std::unexpected(key.error());
  if (image.header.signature_bytes == 0) {
    return fail(ErrorKind::usage, "the image is not signed", {}, "sign it with  assay fw sign");
  }
  const Context context(EVP_MD_CTX_new());
  const auto signature = image.signature();
  if (EVP_DigestVerifyInit(context.get(), nullptr, nullptr, nullptr, key->get()) != 1 ||
      EVP_DigestVerify(context.get(), signature.data(), signature.size(), image.bytes.data(),
                       device::image_header_bytes) != 1) {
    return fail(ErrorKind::usage, "the image's signature is not by this key", {},
                "get the image from who holds the key");
  }
  return {};
}

Result<std::string> public_key_of(std::string_view private_key_pem) {
  const auto key = private_key(private_key_pem);
  if (!key) return std::unexpected(key.error());
  const Bio out(BIO_new(BIO_s_mem()));
  if (!out || PEM_write_bio_PUBKEY(out.get(), key->get()) != 1) {
    return fail(ErrorKind::io, "OpenSSL did not write the key");
  }
  char* data = nullptr;
  const long size = BIO_get_mem_data(out.get(), &data);
  const std::string pem(data, static_cast<std::size_t>(size));
  const std::size_t begin = pem.find('\n') + 1;
  const std::size_t end = pem.find("\n-----END");
  if (end == std::string::npos || end < begin) {
    return fail(ErrorKind::io, "OpenSSL did not write the key");
  }
  return pem.substr(begin, end - begin);
}

}  // namespace assay::firmware
