#include "firmware/update/guards.h"

#include <fmt/core.h>

#include "firmware/image/signature.h"

namespace assay::firmware {

Result<> check_image(const FirmwareImage& image, const ImagePolicy& policy) {
  if (image.header.board != policy.board) {
    return fail(ErrorKind::usage,
                fmt::format("the image is for the board \"{}\", and this is a \"{}\"",
                            image.header.board, policy.board));
  }
  if (policy.public_key.empty()) return {};
  return verify_image(image, policy.public_key);
}

Result<UpdateNeed> check_board(const FirmwareImage& image, const BoardState& board,
                               const UpdatePolicy& policy) {
  if (image.version == board.version && board.has_image) return UpdateNeed::same_version;
  if (image.version < board.version && !policy.allow_downgrade) {
    return fail(ErrorKind::usage,
                fmt::format("the image is {}, older than {} which runs", image.version.text(),
                            board.version.text()),
                {}, "--allow-downgrade  takes it all the same");
  }
  if (policy.temperature_limit_mc && board.temperature_mc &&
      *board.temperature_mc >= *policy.temperature_limit_mc) {
    return fail(ErrorKind::unavailable,
                fmt::format("the board is at {:.1f} C, and the limit for an update is {:.1f} C",
                            *board.temperature_mc / 1000.0, *policy.temperature_limit_mc / 1000.0),
                {}, "let it cool");
  }
  return UpdateNeed::update;
}

}  // namespace assay::firmware
