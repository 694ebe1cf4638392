// assay fw inspect | pack | sign: firmware images as files, no board needed.
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/atomic_file.h"
#include "base/regular_file.h"
#include "base/utf8.h"
#include "firmware/image/firmware_image.h"
#include "firmware/image/signature.h"
#include "station/commands/commands.h"
#include "station/commands/whole_number.h"

namespace assay::station {
namespace {

using firmware::FirmwareImage;

constexpr std::size_t max_key_file_bytes = 64 << 10;

Result<std::string> read_key(const std::string& path) {
  return read_regular_file(path, max_key_file_bytes);
}

// Errors about the content are the file's.
template <class T>
Result<T> at_file(Result<T> result, const std::string& path) {
  if (!result && result.error().where.empty()) result.error().where = to_printable(path);
  return result;
}

struct ImageOptions {
  std::string input;
  std::string output;
  std::string key;
  firmware::ImageIdentity identity;
  std::string security_counter = "0";
  bool json = false;
  bool force = false;
};

Result<> write_image(const FirmwareImage& image, const ImageOptions& options) {
  std::error_code ignored;
  if (!options.force && std::filesystem::exists(options.output, ignored)) {
    return fail(ErrorKind::usage, "is there already", to_printable(options.output),
                "--force  writes over it");
  }
  return write_file_atomically(
      options.output, {reinterpret_cast<const char*>(image.bytes.data()), image.bytes.size()});
}

void print(const FirmwareImage& image, const std::string& path, const std::string& signature) {
  fmt::print(
      "{}\n  board            {}\n  version          {}\n  payload          {} bytes\n"
      "  SHA-256          {}\n  security counter {}\n  signature        {}\n",
      to_printable(path), image.header.board, image.header.version, image.header.payload_bytes,
      image.sha256_text(), image.header.security_counter, signature);
}

Result<int> inspect(const ImageOptions& options) {
  const auto image = firmware::read_image(options.input);
  if (!image) return std::unexpected(image.error());
  std::string signature = image->header.signature_bytes == 0 ? "none" : "not checked: give --key";
  if (!options.key.empty()) {
    const auto key = read_key(options.key);
    if (!key) return std::unexpected(key.error());
    if (auto right = firmware::verify_image(*image, *key); !right) {
      return at_file<int>(std::unexpected(right.error()),
                          right.error().kind == ErrorKind::bad_file ? options.key : options.input);
    }
    signature = "right";
  }
  if (options.json) {
    const nlohmann::ordered_json json{{"file", to_valid_utf8(options.input)},
                                      {"board", image->header.board},
                                      {"version", image->header.version},
                                      {"payload_bytes", image->header.payload_bytes},
                                      {"sha256", image->sha256_text()},
                                      {"security_counter", image->header.security_counter},
                                      {"signature", signature}};
    fmt::print("{}\n", json.dump(2));
  } else {
    print(*image, options.input, signature);
  }
  return 0;
}

Result<int> pack(const ImageOptions& options) {
  const auto payload = read_regular_file(options.input, firmware::max_image_bytes);
  if (!payload) return std::unexpected(payload.error());
  const std::vector<std::uint8_t> bytes(payload->begin(), payload->end());
  // Wrapped twice, no board would boot it; nor a damaged one.
  if (firmware::begins_as_image(bytes)) {
    const auto whole = firmware::parse_image(bytes, to_printable(options.input));
    if (!whole) return std::unexpected(whole.error());
    return fail(ErrorKind::usage, "is a firmware image already", to_printable(options.input),
                "assay fw inspect  shows it");
  }
  const auto counter =
      parse_whole_number(options.security_counter, UINT32_MAX, "--security-counter");
  if (!counter) return std::unexpected(counter.error());
  firmware::ImageIdentity identity = options.identity;
  identity.security_counter = static_cast<std::uint32_t>(*counter);
  const auto image = firmware::pack_image(bytes, identity);
  if (!image) return std::unexpected(image.error());
  if (auto written = write_image(*image, options); !written) {
    return std::unexpected(written.error());
  }
  print(*image, options.output, "none");
  return 0;
}

Result<int> sign(const ImageOptions& options) {
  const auto image = firmware::read_image(options.input);
  if (!image) return std::unexpected(image.error());
  const auto key = read_key(options.key);
  if (!key) return std::unexpected(key.error());
  const auto signed_image = at_file(firmware::sign_image(*image, *key), options.key);
  if (!signed_image) return std::unexpected(signed_image.error());
  const auto public_key = firmware::public_key_of(*key);
  if (!public_key) return std::unexpected(public_key.error());
  if (auto written = write_image(*signed_image, options); !written) {
    return std::unexpected(written.error());
  }
  print(*signed_image, options.output, "by the key whose public half is\n  " + *public_key);
  return 0;
}

void finish(CLI::App* command, Invocation& invocation, std::shared_ptr<ImageOptions> options,
            Result<int> (*run)(const ImageOptions&)) {
  command->callback([options = std::move(options), run, &invocation] {
    const auto code = run(*options);
    invocation.exit_code = code ? *code : report_error(code.error());
  });
}

}  // namespace

void add_image_commands(CLI::App& fw, Invocation& invocation) {
  {
    auto options = std::make_shared<ImageOptions>();
    CLI::App* command = fw.add_subcommand("inspect", "what a firmware image says of itself");
    command->add_option("image", options->input, "firmware image")->required();
    command->add_option("--key", options->key, "public key (PEM) that must have signed it");
    command->add_flag("--json", options->json, "as JSON");
    command->footer(
        "Examples:\n  assay fw inspect npu-firmware-v2.3.1.bin\n"
        "  assay fw inspect image.bin --key vendor.pub.pem");
    finish(command, invocation, options, inspect);
  }
  {
    auto options = std::make_shared<ImageOptions>();
    CLI::App* command = fw.add_subcommand("pack", "wrap a vendor's raw .bin into an image");
    command->add_option("payload", options->input, "the raw file")->required();
    command->add_option("-o,--output", options->output, "the image to write")->required();
    command->add_option("--board", options->identity.board, "id of the board that it is for")
        ->required();
    command->add_option("--version", options->identity.version, "its version")->required();
    command->add_option("--security-counter", options->security_counter,
                        "boards refuse images with a lower one than they run");
    command->add_flag("--force", options->force, "write over the output");
    command->footer(
        "Examples:\n  assay fw pack raw.bin -o npu-firmware-v2.3.1.bin --board m6-mini "
        "--version 2.3.1");
    finish(command, invocation, options, pack);
  }
  {
    auto options = std::make_shared<ImageOptions>();
    CLI::App* command = fw.add_subcommand("sign", "sign an image (Ed25519)");
    command->add_option("image", options->input, "firmware image")->required();
    command->add_option("--key", options->key, "private key (PEM)")->required();
    command->add_option("-o,--output", options->output, "the signed image to write")->required();
    command->add_flag("--force", options->force, "write over the output");
    command->footer(
        "Examples:\n  openssl genpkey -algorithm ed25519 -out key.pem\n"
        "  assay fw sign image.bin --key key.pem -o signed.bin\n"
        "The public half goes into the board's profile: \"firmware\": { \"public_key\": ... }");
    finish(command, invocation, options, sign);
  }
}

}  // namespace assay::station
