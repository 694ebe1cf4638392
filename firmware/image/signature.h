// Ed25519 signatures (RFC 8032) of firmware images, by OpenSSL. What is signed are the 256 bytes of
// the header, which hold the payload's SHA-256.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "firmware/image/firmware_image.h"

namespace assay::firmware {

// The image with a signature by the private key (PEM, as `openssl genpkey -algorithm ed25519`
// writes it); one that it had is replaced. Errors: bad_file, when that is no such key.
Result<FirmwareImage> sign_image(const FirmwareImage& image, std::string_view private_key_pem);

// `public_key` is PEM, or what stands between its first and last line: base64 of the DER form.
// Errors: bad_file when that is no Ed25519 key; usage when the image has no signature or another
// one's.
Result<> verify_image(const FirmwareImage& image, std::string_view public_key);

// The public half, in base64 of its DER form: what a profile holds. Errors: as sign_image().
Result<std::string> public_key_of(std::string_view private_key_pem);

}  // namespace assay::firmware
