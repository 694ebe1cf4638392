#include "probes/memory/memory_findings.h"

#include <fcntl.h>
#include <fmt/core.h>

#include <cerrno>
#include <cstring>

#include "base/clock.h"
#include "base/units.h"
#include "probes/memory/page_map.h"
#include "probes/memory/ram.h"

namespace assay::probes {
namespace {

// The kernel's own image and tables, and what firmware keeps, are not in its count.
constexpr double smallest_share = 0.9;
constexpr std::size_t most_lines_of_evidence = 8;

std::string hex(std::uint64_t value) {
  return fmt::format("{:#018x}", value);
}

std::string evidence_of(const BadWord& word) {
  const MemoryError& e = word.first;
  std::string text = fmt::format("address {}", hex(e.address));
  if (e.physical) text += fmt::format(", physical {}", hex(*e.physical));
  text += fmt::format(": expected {}, found {}, bits {} ({}, {}, iteration {}", hex(e.expected),
                      hex(e.actual), hex(word.flipped), e.test, e.element, e.iteration);
  if (e.processor >= 0) text += fmt::format(", processor {}", e.processor);
  text += fmt::format(")  {} errors", word.errors);
  if (word.retest.rounds > 0) {
    text += fmt::format(", retest {} of {} failed: {}", word.retest.failed, word.retest.rounds,
                        to_text(verdict_of(word)));
  }
  return text;
}

}  // namespace

void record_error(reports::StepRecorder& recorder, const MemoryError& error) {
  nlohmann::json content{{"address", hex(error.address)},
                         {"offset", error.offset},
                         {"expected", hex(error.expected)},
                         {"actual", hex(error.actual)},
                         {"mask", hex(error.flipped())},
                         {"again", hex(error.again)},
                         {"test", error.test},
                         {"element", error.element},
                         {"operation", error.operation},
                         {"iteration", error.iteration},
                         {"processor", error.processor},
                         {"time", timestamp(error.wall_ns)}};
  if (error.physical) content["physical"] = hex(*error.physical);
  if (error.temperature_mc) content["temperature_mc"] = *error.temperature_mc;
  recorder.extension("assay.memory.mismatch", std::move(content));
}

void report_errors(reports::StepRecorder& recorder, const ErrorLog& log, std::uint64_t bytes) {
  if (log.errors() == 0) return;
  nlohmann::json regions = nlohmann::json::array();
  for (const auto& [mib, errors] : log.by_region()) {
    regions.push_back({{"mib", mib}, {"errors", errors}});
  }
  nlohmann::json words = nlohmann::json::array();
  for (const auto& [offset, word] : log.words()) {
    nlohmann::json one{{"offset", offset},
                       {"errors", word.errors},
                       {"passes", word.passes},
                       {"mask", hex(word.flipped)},
                       {"retested", word.retest.rounds},
                       {"retest_failed", word.retest.failed},
                       {"kind", to_text(verdict_of(word))}};
    if (word.first.physical) one["physical"] = hex(*word.first.physical);
    words.push_back(std::move(one));
  }
  recorder.detail("errors", {{"errors", log.errors()},
                             {"likely", log.likely_cause()},
                             {"by_bit", log.by_bit()},
                             {"by_byte_lane", log.by_byte_lane()},
                             {"by_region_mib", std::move(regions)},
                             {"words", std::move(words)}});

  reports::Finding finding{
      .code = "MEM_CORRUPTION_ERR",
      .message =
          fmt::format("{} reads gave a wrong word, at {} addresses of {}; bits that flipped: "
                      "{}. Likely {}.",
                      log.errors(), log.word_count(), format_gib(bytes), hex(log.flipped()),
                      log.likely_cause()),
      .where = "RAM"};
  for (const auto& [offset, word] : log.words()) {
    if (finding.evidence.size() >= most_lines_of_evidence) break;
    finding.evidence.push_back(evidence_of(word));
  }
  const auto arguments = log.kernel_arguments(PageMap::page_bytes());
  if (!arguments.empty()) {
    std::string all;
    for (std::size_t i = 0; i < std::min<std::size_t>(arguments.size(), 16); ++i) {
      all += (all.empty() ? "" : " ") + arguments[i];
    }
    finding = reports::complete(std::move(finding));
    finding.remedy.push_back("until then keep an x86 kernel off these pages with  " + all);
  }
  recorder.finding(std::move(finding));
  recorder.headline(fmt::format("{} errors", log.errors()));
}

void report_edac(reports::StepRecorder& recorder, std::optional<EdacCounts> before,
                 std::optional<EdacCounts> after) {
  if (!before || !after) {
    recorder.log(reports::Severity::info,
                 "EDAC is unavailable: whether ECC corrected errors is unknown");
    return;
  }
  // A controller whose driver was loaded again counts from zero.
  const auto more = [](std::uint64_t b, std::uint64_t a) { return a >= b ? a - b : a; };
  const std::uint64_t corrected = more(before->corrected, after->corrected);
  const std::uint64_t uncorrected = more(before->uncorrected, after->uncorrected);
  recorder.measure("ecc_corrected", static_cast<std::int64_t>(corrected), "1");
  recorder.measure("ecc_uncorrected", static_cast<std::int64_t>(uncorrected), "1");
  if (corrected > 0) {
    recorder.finding({.code = "MEM_ECC_CORRECTED",
                      .message = fmt::format("ECC corrected {} errors during the test.", corrected),
                      .where = "RAM",
                      .evidence = {fmt::format("ce_count {} before, {} after", before->corrected,
                                               after->corrected)}});
  }
  if (uncorrected > 0) {
    recorder.finding(
        {.code = "MEM_ECC_UNCORRECTED",
         .message = fmt::format("ECC saw {} errors that it could not correct.", uncorrected),
         .where = "RAM",
         .evidence = {fmt::format("ue_count {} before, {} after", before->uncorrected,
                                  after->uncorrected)}});
  }
}

Result<> report_size(reports::StepRecorder& recorder, const Machine& machine,
                     const BoardProfile& board) {
  if (!board.memory) return {};
  auto seen = total_memory(machine);
  if (!seen) return std::unexpected(seen.error());
  // With what the kernel reserves for itself, where it tells that.
  if (const auto frames = present_frames(machine)) {
    seen = std::max(*seen, *frames * board.memory->page_bytes);
  }
  const auto least =
      static_cast<std::int64_t>(static_cast<double>(board.memory->total_bytes) * smallest_share);
  const bool whole = recorder.measure(
      "memory_seen", static_cast<std::int64_t>(*seen), "By",
      {reports::make_validator(reports::Comparison::greater_or_equal, least, "By")});
  if (whole) return {};
  recorder.finding(
      {.code = "MEM_SIZE",
       .message = fmt::format("The kernel sees {} of memory; the board has {}.", format_gib(*seen),
                              format_gib(board.memory->total_bytes)),
       .where = "RAM",
       .evidence = {fmt::format("{} of {} bytes", *seen, board.memory->total_bytes)}});
  return {};
}

void offline_pages(reports::StepRecorder& recorder, const Machine& machine,
                   const std::vector<std::uint64_t>& pages) {
  const std::string file = "/sys/devices/system/memory/soft_offline_page";
  for (const std::uint64_t page : pages) {
    const std::string text = fmt::format("{:#x}", page);
    const auto fd = machine.open(file, O_WRONLY);
    if (!fd) {
      recorder.log(reports::Severity::warning,
                   "pages cannot be retired here: " + fd.error().text());
      return;
    }
    if (write(fd->get(), text.data(), text.size()) == static_cast<ssize_t>(text.size())) {
      recorder.log(reports::Severity::info, "the kernel retired the page at " + text);
    } else {
      recorder.log(
          reports::Severity::warning,
          fmt::format("the kernel did not retire the page at {}: {}", text, std::strerror(errno)));
    }
  }
  if (pages.empty()) {
    recorder.log(reports::Severity::info,
                 "no page to retire: the physical address of no error is known");
  }
}

}  // namespace assay::probes
