#include "probes/firmware/image_source.h"

#include <filesystem>

namespace assay::probes {

Result<std::string> find_image(const Bench& bench, const Parameters& parameters) {
  const auto& profile = bench.board.firmware;
  const std::string name = parameters.text("image", profile ? profile->image : "");
  if (name.empty()) {
    return fail(ErrorKind::usage, "the board's profile names no firmware; name the image", "image");
  }
  std::error_code ignored;
  if (parameters.has("image") || std::filesystem::exists(name, ignored)) return name;
  std::string folders;
  for (const std::string& folder : bench.firmware_folders) {
    const std::string path = folder + "/" + name;
    if (std::filesystem::exists(path, ignored)) return path;
    folders += (folders.empty() ? "" : ", ") + folder;
  }
  return fail(ErrorKind::bad_file, "is not here and not in " + folders, name,
              "get it from the board's vendor; a raw .bin is wrapped by  assay fw pack");
}

firmware::ImagePolicy image_policy(const Bench& bench) {
  const auto& profile = bench.board.firmware;
  return {bench.board.id, profile ? profile->public_key : ""};
}

}  // namespace assay::probes
