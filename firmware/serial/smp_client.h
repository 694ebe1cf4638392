// The management protocol SMP (MCUmgr; MCUboot's serial recovery) over a serial console: images
// uploaded piece by piece, an upload that broke off going on where the board says.
//
// Errors of all calls, `where` being the port:
//   timeout    no answer in any try
//   protocol   the board refused (its reason in words), or its answer is not understood
//   vanished, cancelled   as the transport and the token say
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

#include "base/cancel.h"
#include "base/clock.h"
#include "base/result.h"
#include "firmware/serial/smp_frame.h"
#include "firmware/serial/transport.h"

namespace assay::firmware {

struct SmpOptions {
  std::int64_t timeout_ns = 3 * ns_per_s;  // of each try
  int tries = 4;
  const CancelToken* cancel = nullptr;
};

struct SmpImage {
  unsigned slot = 0;
  std::string version;
  std::vector<std::uint8_t> hash;
  bool active = false;
  bool confirmed = false;
  bool pending = false;
};

class SmpClient {
 public:
  // The transport outlives the client.
  explicit SmpClient(Transport& transport, const SmpOptions& options = {})
      : transport_(transport), options_(options) {}

  Result<std::string> echo(const std::string& text);
  Result<std::vector<SmpImage>> images();
  // An upload of the same bytes that broke off is gone on with.
  Result<> upload(std::span<const std::uint8_t> image,
                  const std::function<void(std::uint64_t sent)>& on_progress = {});
  // The image with that hash is tried at the next boot.
  Result<> test(std::span<const std::uint8_t> hash);
  // The image that runs is kept.
  Result<> confirm();
  Result<> reset();

 private:
  enum class Op : std::uint8_t { read = 0, write = 2 };
  struct Command {
    Op op;
    std::uint16_t group;
    std::uint8_t id;
  };

  Result<nlohmann::json> request(const Command& command, const nlohmann::json& body);
  Result<nlohmann::json> attempt(std::span<const std::uint8_t> packet);
  Result<std::uint32_t> packet_bytes();

  Transport& transport_;
  SmpOptions options_;
  SmpFrameReader reader_;
  std::uint8_t sequence_ = 0;
};

}  // namespace assay::firmware
