// Replays the corpora through the fuzz targets, so that every compiler and sanitizer sees them. A
// property that does not hold aborts.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <ostream>
#include <sstream>
#include <vector>

extern "C" {
using Target = int(const std::uint8_t* data, std::size_t size);
Target fuzz_at_parser, fuzz_at_server, fuzz_board_profile, fuzz_buddyinfo, fuzz_config_space,
    fuzz_dfu_client, fuzz_dfu_device, fuzz_dfu_suffix, fuzz_firmware_image, fuzz_image_header,
    fuzz_journal_fold, fuzz_journal_line, fuzz_kmsg_record, fuzz_memory_test_name, fuzz_semver,
    fuzz_smp_frame, fuzz_smp_server, fuzz_test_plan, fuzz_units, fuzz_virtual_spec,
    fuzz_ymodem_receiver, fuzz_ymodem_sender, fuzz_zoneinfo;
}

namespace assay {
namespace {

struct Named {
  const char* name;
  Target* target;
};

void PrintTo(const Named& named, std::ostream* out) {
  *out << named.name;
}

class Corpus : public testing::TestWithParam<Named> {
 protected:
  // Bytes in memory of exactly their size, so that a sanitizer sees a read beyond them.
  void run(const std::string& bytes) const {
    const std::vector<std::uint8_t> exact(bytes.begin(), bytes.end());
    GetParam().target(exact.data(), exact.size());
  }
};

TEST_P(Corpus, holdsTheProperties) {
  const std::filesystem::path folder = std::filesystem::path(ASSAY_FUZZ_CORPUS) / GetParam().name;
  ASSERT_TRUE(std::filesystem::is_directory(folder)) << folder;
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    SCOPED_TRACE(entry.path());
    std::ifstream file(entry.path(), std::ios::binary);
    std::stringstream content;
    content << file.rdbuf();
    const std::string bytes = content.str();
    run(bytes);
    // Cut off at many places, and with each of some bytes broken.
    for (std::size_t i = 0; i < std::min<std::size_t>(bytes.size(), 300); ++i) {
      const std::size_t at = i * bytes.size() / std::min<std::size_t>(bytes.size(), 300);
      run(bytes.substr(0, at));
      for (const char wrong : {'\0', '\n', '"', '9', '\x7F', '\xFF'}) {
        std::string broken = bytes;
        broken[at] = wrong;
        run(broken);
      }
    }
    ++files;
  }
  EXPECT_GT(files, 0U);
  run("");
}

INSTANTIATE_TEST_SUITE_P(
    Fuzz, Corpus,
    testing::Values(
        Named{"at_parser", fuzz_at_parser}, Named{"at_server", fuzz_at_server},
        Named{"board_profile", fuzz_board_profile}, Named{"buddyinfo", fuzz_buddyinfo},
        Named{"config_space", fuzz_config_space}, Named{"dfu_client", fuzz_dfu_client},
        Named{"dfu_device", fuzz_dfu_device}, Named{"dfu_suffix", fuzz_dfu_suffix},
        Named{"firmware_image", fuzz_firmware_image}, Named{"image_header", fuzz_image_header},
        Named{"journal_fold", fuzz_journal_fold}, Named{"journal_line", fuzz_journal_line},
        Named{"kmsg_record", fuzz_kmsg_record}, Named{"memory_test_name", fuzz_memory_test_name},
        Named{"semver", fuzz_semver}, Named{"smp_frame", fuzz_smp_frame},
        Named{"smp_server", fuzz_smp_server}, Named{"test_plan", fuzz_test_plan},
        Named{"units", fuzz_units}, Named{"virtual_spec", fuzz_virtual_spec},
        Named{"ymodem_receiver", fuzz_ymodem_receiver}, Named{"ymodem_sender", fuzz_ymodem_sender},
        Named{"zoneinfo", fuzz_zoneinfo}),
    [](const auto& named) { return std::string(named.param.name); });

}  // namespace
}  // namespace assay
