// Replays the corpora through the fuzz targets, so that every compiler and sanitizer sees them. A
// property that does not hold aborts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <ostream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

extern "C" {
using Target = int(const std::uint8_t* data, std::size_t size);
Target fuzz_at_parser, fuzz_at_server, fuzz_board_profile, fuzz_buddyinfo, fuzz_chat_template,
    fuzz_config_space, fuzz_dfu_client, fuzz_dfu_device, fuzz_dfu_suffix, fuzz_firmware_image,
    fuzz_gguf, fuzz_image_header, fuzz_iomem, fuzz_journal_fold, fuzz_journal_line, fuzz_kernel_log,
    fuzz_kmsg_record, fuzz_lspci_dump, fuzz_memory_test_name, fuzz_model_shape, fuzz_npu_index,
    fuzz_npu_pool, fuzz_page_types, fuzz_semver, fuzz_setting_file, fuzz_smp_frame, fuzz_smp_server,
    fuzz_test_plan, fuzz_thermometer_line, fuzz_tokenizer, fuzz_units, fuzz_virtual_spec,
    fuzz_ymodem_receiver, fuzz_ymodem_sender, fuzz_zoneinfo;
}

namespace assay::fuzz {

// Of the inputs since it was cleared. The targets' one entry has no place for it.
std::set<std::string>& states_reached() {
  static std::set<std::string> states;
  return states;
}

void reached(const std::string& state) {
  states_reached().insert(state);
}

}  // namespace assay::fuzz

namespace assay {
namespace {

std::string content_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream content;
  content << file.rdbuf();
  return content.str();
}

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
    const std::string bytes = content_of(entry.path());
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
        Named{"chat_template", fuzz_chat_template}, Named{"config_space", fuzz_config_space},
        Named{"dfu_client", fuzz_dfu_client}, Named{"dfu_device", fuzz_dfu_device},
        Named{"dfu_suffix", fuzz_dfu_suffix}, Named{"firmware_image", fuzz_firmware_image},
        Named{"gguf", fuzz_gguf}, Named{"image_header", fuzz_image_header},
        Named{"iomem", fuzz_iomem}, Named{"journal_fold", fuzz_journal_fold},
        Named{"journal_line", fuzz_journal_line}, Named{"kernel_log", fuzz_kernel_log},
        Named{"kmsg_record", fuzz_kmsg_record}, Named{"lspci_dump", fuzz_lspci_dump},
        Named{"memory_test_name", fuzz_memory_test_name}, Named{"model_shape", fuzz_model_shape},
        Named{"npu_index", fuzz_npu_index}, Named{"npu_pool", fuzz_npu_pool},
        Named{"page_types", fuzz_page_types}, Named{"semver", fuzz_semver},
        Named{"setting_file", fuzz_setting_file}, Named{"smp_frame", fuzz_smp_frame},
        Named{"smp_server", fuzz_smp_server}, Named{"test_plan", fuzz_test_plan},
        Named{"thermometer_line", fuzz_thermometer_line}, Named{"tokenizer", fuzz_tokenizer},
        Named{"units", fuzz_units}, Named{"virtual_spec", fuzz_virtual_spec},
        Named{"ymodem_receiver", fuzz_ymodem_receiver}, Named{"ymodem_sender", fuzz_ymodem_sender},
        Named{"zoneinfo", fuzz_zoneinfo}),
    [](const auto& named) { return std::string(named.param.name); });

// What a seed is there for: a fuzzer that begins in front of it hardly finds the way alone.
struct Seed {
  Target* target;
  const char* path;
  std::vector<std::string> states;
};

TEST(Seeds, reachTheStateThatTheyAreFor) {
  const Seed seeds[] = {
      {fuzz_at_parser, "at_parser/answer", {"echo, OK, 1 lines"}},
      {fuzz_at_parser, "at_parser/boot-noise", {"echo, OK, 1 lines"}},
      {fuzz_at_parser, "at_parser/error", {"ERROR, 0 lines"}},
      {fuzz_at_parser, "at_parser/long", {"OK, 1 lines"}},
      {fuzz_at_server, "at_server/argument", {"AT+IPR= with 921600", "AT+IPR= with ", "AT+SLOTS?"}},
      {fuzz_at_server, "at_server/session", {"a version"}},
      {fuzz_board_profile, "board_profile/generic-linux.json", {"read"}},
      {fuzz_board_profile, "board_profile/golden-thermal.json", {"read"}},
      {fuzz_board_profile, "board_profile/m6-mini.json", {"read"}},
      {fuzz_board_profile, "board_profile/raspberry-pi-5.json", {"read"}},
      {fuzz_board_profile, "board_profile/rock-5b.json", {"read"}},
      {fuzz_buddyinfo, "buddyinfo/one-node", {"2 zones"}},
      {fuzz_buddyinfo, "buddyinfo/two-nodes", {"2 zones"}},
      // The numbers are those of ChatFamily.
      {fuzz_chat_template, "chat_template/llama-2", {"family 2", "begins with <s>[INST] "}},
      {fuzz_chat_template,
       "chat_template/llama-3",
       {"family 1", "begins with <s><|start_header_id|>user<|end_header_id|>\n\n"}},
      {fuzz_chat_template,
       "chat_template/llama-3.2",
       {"family 1",
        "begins with <s><|start_header_id|>system<|end_header_id|>\n\n"
        "Cutting Knowledge Date: December 2023\nToday Date: 26 Jul 2024\n\n<|eot_id|>"
        "<|start_header_id|>user<|end_header_id|>\n\n"}},
      {fuzz_chat_template, "chat_template/mistral-v1", {"family 3", "begins with <s> [INST] "}},
      {fuzz_chat_template, "chat_template/mistral-v3", {"family 3", "begins with <s>[INST] "}},
      {fuzz_chat_template, "chat_template/mixtral", {"family 3", "begins with <s>[INST] "}},
      {fuzz_chat_template,
       "chat_template/qwen2",
       {"family 0",
        "begins with <|im_start|>system\nYou are a helpful assistant.<|im_end|>\n"
        "<|im_start|>user\n"}},
      {fuzz_chat_template,
       "chat_template/qwen2.5",
       {"family 0",
        "begins with <|im_start|>system\nYou are Qwen, created by Alibaba Cloud. You are a helpful "
        "assistant.<|im_end|>\n<|im_start|>user\n"}},
      {fuzz_config_space, "config_space/endpoint", {"2 capabilities", "link"}},
      {fuzz_config_space, "config_space/loop", {"1 capabilities"}},
      {fuzz_config_space, "config_space/root-port", {"1 capabilities", "link"}},
      // The numbers are those of DfuEnd.
      {fuzz_dfu_client, "dfu_client/busy", {"not written"}},
      {fuzz_dfu_client, "dfu_client/download", {"written, 1"}},
      {fuzz_dfu_client, "dfu_client/gone", {"written, 2"}},
      {fuzz_dfu_client, "dfu_client/stall", {"not written"}},
      {fuzz_dfu_client, "dfu_client/tolerant", {"written, 0"}},
      {fuzz_dfu_client, "dfu_client/upload", {"read 61 bytes"}},
      {fuzz_dfu_device,
       "dfu_device/descriptors",
       {"descriptor 256", "descriptor 512", "descriptor 768", "descriptor 769", "descriptor 773"}},
      {fuzz_dfu_device, "dfu_device/tolerant", {"an image waits for its trial", "a reset"}},
      {fuzz_dfu_device, "dfu_device/update", {"an image waits for its trial", "a reset"}},
      {fuzz_dfu_device, "dfu_device/upload", {"the image is read"}},
      {fuzz_dfu_suffix, "dfu_suffix/any", {"a suffix"}},
      {fuzz_dfu_suffix, "dfu_suffix/image", {"a suffix"}},
      {fuzz_dfu_suffix, "dfu_suffix/longer-suffix", {"a suffix"}},
      {fuzz_firmware_image, "firmware_image/whole", {"an image"}},
      {fuzz_gguf, "gguf/llama", {"12 tensors", "llama"}},
      {fuzz_gguf, "gguf/mixtral", {"13 tensors", "llama"}},
      {fuzz_gguf, "gguf/mixtral-split", {"16 tensors", "llama"}},
      {fuzz_gguf, "gguf/qwen2", {"14 tensors", "qwen2"}},
      {fuzz_gguf, "gguf/qwen2moe", {"20 tensors", "qwen2moe"}},
      {fuzz_gguf, "gguf/qwen3", {"14 tensors", "qwen3"}},
      {fuzz_gguf, "gguf/qwen3moe", {"15 tensors", "qwen3moe"}},
      {fuzz_gguf, "gguf/values", {"2 tensors"}},
      {fuzz_image_header, "image_header/good", {"a header"}},
      {fuzz_iomem, "iomem/ram", {"2 ranges"}},
      {fuzz_journal_fold, "journal_fold/fail", {"FAIL"}},
      {fuzz_journal_fold, "journal_fold/pass", {"PASS"}},
      {fuzz_journal_line, "journal_line/00", {"read"}},
      {fuzz_journal_line, "journal_line/03", {"read"}},
      {fuzz_journal_line, "journal_line/14", {"read"}},
      {fuzz_kernel_log, "kernel_log/cma", {"CMA_ALLOC_FAILED", "pages of 65536"}},
      {fuzz_kernel_log,
       "kernel_log/devices",
       {"PCIE_AER_CORRECTED", "CPU_ERROR_UNCORRECTED", "MEM_ECC_CORRECTED", "NVME_TIMEOUT",
        "USB_DEVICE_ERROR", "MEM_PAGE_OFFLINED", "THERMAL_SHUTDOWN"}},
      {fuzz_kernel_log, "kernel_log/kill", {"MEM_OOM_KILL", "KERNEL_HUNG_TASK", "UART_OVERRUN"}},
      {fuzz_kernel_log, "kernel_log/npu", {"NPU_BUFFER_REFUSED", "NPU_DMA_MAP_ERROR"}},
      {fuzz_kernel_log, "kernel_log/page-allocation", {"PAGE_ALLOC_FAILED", "pages of 16384"}},
      {fuzz_kmsg_record, "kmsg_record/throttle", {"npu: THERMAL_THROTTLE triggered at 87C"}},
      {fuzz_lspci_dump, "lspci_dump/256-bytes", {"256 bytes, link"}},
      {fuzz_lspci_dump, "lspci_dump/4096-bytes", {"4096 bytes, link, AER"}},
      {fuzz_lspci_dump, "lspci_dump/crlf", {"256 bytes, link", "CRLF"}},
      {fuzz_lspci_dump, "lspci_dump/gap", {"line 4"}},
      {fuzz_lspci_dump, "lspci_dump/loop", {"256 bytes, broken, link"}},
      {fuzz_lspci_dump, "lspci_dump/port-and-card", {"2 functions"}},
      {fuzz_lspci_dump, "lspci_dump/twice", {"line 7"}},
      {fuzz_lspci_dump, "lspci_dump/without-root", {"64 bytes, cut"}},
      {fuzz_memory_test_name, "memory_test_name/march-c-", {"a test"}},
      {fuzz_memory_test_name, "memory_test_name/march-notation", {"a notation"}},
      {fuzz_memory_test_name, "memory_test_name/modulo-20", {"a test"}},
      {fuzz_memory_test_name, "memory_test_name/pattern", {"a test"}},
      {fuzz_model_shape, "model_shape/dense.json", {"read"}},
      {fuzz_model_shape, "model_shape/moe.json", {"read"}},
      {fuzz_npu_index, "npu_index/empty", {"0 chunks, 0 tensors"}},
      {fuzz_npu_index, "npu_index/moe", {"3 chunks, 3 tensors"}},
      {fuzz_npu_pool, "npu_pool/fresh", {"0 mappings"}},
      {fuzz_npu_pool, "npu_pool/with-others", {"3 mappings"}},
      {fuzz_page_types, "page_types/two-nodes", {"2 rows, 3 counts of page blocks"}},
      {fuzz_semver, "semver/build", {"3 versions"}},
      {fuzz_semver, "semver/three", {"3 versions"}},
      {fuzz_setting_file, "setting_file/not-set", {"not set"}},
      {fuzz_setting_file, "setting_file/number-sign", {"set to #none ;yet"}},
      {fuzz_setting_file, "setting_file/set", {"set to 1800"}},
      {fuzz_setting_file, "setting_file/twice", {"set to 7"}},
      {fuzz_thermometer_line, "thermometer_line/celsius", {"a temperature"}},
      {fuzz_thermometer_line, "thermometer_line/fahrenheit", {"a temperature"}},
      {fuzz_thermometer_line, "thermometer_line/plain-pairs", {"6 pairs", "a calibration"}},
      {fuzz_thermometer_line, "thermometer_line/timed-pairs", {"19 pairs", "a calibration"}},
      {fuzz_thermometer_line, "thermometer_line/typed", {"both typed"}},
      {fuzz_smp_frame, "smp_frame/echo", {"a packet of 14 bytes"}},
      {fuzz_smp_frame, "smp_frame/with-log", {"a packet of 9 bytes"}},
      {fuzz_smp_server, "smp_server/questions", {"an answer"}},
      {fuzz_smp_server, "smp_server/raw", {"an answer"}},
      {fuzz_smp_server, "smp_server/upload", {"an image waits for its trial"}},
      {fuzz_test_plan, "test_plan/board.json", {"read"}},
      {fuzz_test_plan, "test_plan/fat.json", {"read"}},
      {fuzz_test_plan, "test_plan/plan-small.json", {"read"}},
      {fuzz_test_plan, "test_plan/quick.json", {"read"}},
      // As text, and with the special tokens in it.
      {fuzz_tokenizer, "tokenizer/gpt-2", {"25 ids", "21 ids"}},
      {fuzz_tokenizer, "tokenizer/llama", {"24 ids", "17 ids"}},
      {fuzz_tokenizer, "tokenizer/llama-3", {"22 ids", "16 ids"}},
      {fuzz_tokenizer, "tokenizer/llama-without-bytes", {"7 ids"}},
      {fuzz_tokenizer, "tokenizer/qwen2", {"25 ids", "14 ids"}},
      {fuzz_units, "units/0", {"a size"}},
      {fuzz_units, "units/2", {"a duration"}},
      {fuzz_units, "units/4", {"a time stamp"}},
      {fuzz_virtual_spec, "virtual_spec/m6-mini.json", {"read"}},
      {fuzz_ymodem_receiver, "ymodem_receiver/file", {"a whole file of 100 bytes"}},
      {fuzz_ymodem_receiver, "ymodem_receiver/long-blocks", {"a whole file of 1100 bytes"}},
      {fuzz_ymodem_receiver, "ymodem_receiver/noise", {"a whole file of 200 bytes"}},
      {fuzz_ymodem_receiver, "ymodem_receiver/sound-blocks", {"a whole file of 300 bytes"}},
      {fuzz_ymodem_sender, "ymodem_sender/batch", {"sent 1200 bytes"}},
      {fuzz_ymodem_sender, "ymodem_sender/xmodem", {"sent 100 bytes"}},
      {fuzz_zoneinfo, "zoneinfo/two-zones", {"5509022 frames"}},
  };
  for (const Seed& seed : seeds) {
    const std::string bytes = content_of(std::filesystem::path(ASSAY_FUZZ_CORPUS) / seed.path);
    ASSERT_FALSE(bytes.empty()) << seed.path;
    fuzz::states_reached().clear();
    seed.target(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
    for (const std::string& state : seed.states) {
      EXPECT_THAT(fuzz::states_reached(), testing::Contains(state)) << seed.path;
    }
  }
}

}  // namespace
}  // namespace assay
