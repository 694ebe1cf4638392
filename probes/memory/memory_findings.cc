#include "probes/memory/memory_findings.h"

#include <fcntl.h>
#include <fmt/core.h>

#include <cerrno>
#include <cstring>

#include "base/clock.h"
#include "base/units.h"
#include "probes/memory/frame_coverage.h"
#include "probes/memory/ram.h"

namespace assay::probes {
namespace {

// The kernel's own image and tables, and what firmware keeps, are not in its count.
constexpr double smallest_share = 0.9;

// With what the kernel reserves for itself, where it tells that.
Result<std::uint64_t> memory_seen(const Machine& machine, std::uint64_t page_bytes) {
  auto seen = total_memory(machine);
  const auto frames = present_frames(machine);
  if (seen && frames) seen = std::max(*seen, *frames * page_bytes);
  return seen;
}

std::int64_t least_seen(const MemoryProfile& memory) {
  return static_cast<std::int64_t>(static_cast<double>(memory.total_bytes) * smallest_share);
}

std::string hex(std::uint64_t value) {
  return fmt::format("{:#018x}", value);
}

// "1 error", "2 errors"
std::string counted(std::uint64_t count, const char* what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

std::string evidence_of(const BadWord& word, WordVerdict verdict) {
  std::string text = evidence_of(word.first) + "  " + counted(word.errors, "error");
  if (word.flipped != word.first.flipped()) text += ", in all bits " + hex(word.flipped);
  if (word.retest.rounds > 0) {
    text += fmt::format(", retest {} of {} failed: {}", word.retest.failed, word.retest.rounds,
                        to_text(verdict));
  }
  return text;
}

nlohmann::json to_json(const MemoryError& error) {
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
  return content;
}

}  // namespace

std::string evidence_of(const MemoryError& e) {
  std::string text = fmt::format("address {}", hex(e.address));
  if (e.physical) text += fmt::format(", physical {}", hex(*e.physical));
  text += fmt::format(": expected {}, found {}, bits {} ({}, {}, iteration {}", hex(e.expected),
                      hex(e.actual), hex(e.flipped()), e.test, e.element, e.iteration);
  if (e.processor >= 0) text += fmt::format(", processor {}", e.processor);
  if (e.temperature_mc) {
    text += fmt::format(", {:.1f} C", static_cast<double>(*e.temperature_mc) / 1000);
  }
  return text + ", " + timestamp(e.wall_ns) + ")";
}

void record_error(reports::StepRecorder& recorder, const MemoryError& error) {
  recorder.extension("assay.memory.mismatch", to_json(error));
}

void report_errors(reports::StepRecorder& recorder, const ErrorLog& log, std::uint64_t bytes) {
  if (log.errors() == 0) return;
  nlohmann::json regions = nlohmann::json::array();
  for (const auto& [mib, errors] : log.by_region()) {
    regions.push_back({{"mib", mib}, {"errors", errors}});
  }
  nlohmann::json words = nlohmann::json::array();
  for (const auto& [key, word] : log.words()) {
    words.push_back({{"errors", word.errors},
                     {"passes", word.passes},
                     {"mask", hex(word.flipped)},
                     {"retested", word.retest.rounds},
                     {"retest_failed", word.retest.failed},
                     {"kind", to_text(log.verdict_of(word))},
                     {"first", to_json(word.first)}});
  }
  recorder.detail("errors", {{"errors", log.errors()},
                             // Of the rest neither word nor bit is known.
                             {"with_place", log.errors() - log.uncounted()},
                             {"complete", log.has_all_words()},
                             {"likely", log.likely_cause()},
                             {"by_bit", log.by_bit()},
                             {"by_byte_lane", log.by_byte_lane()},
                             {"by_region_mib", std::move(regions)},
                             {"kernel_arguments", log.kernel_arguments(PageMap::page_bytes())},
                             {"words", std::move(words)}});

  reports::Finding finding{
      .code = "MEM_CORRUPTION_ERR",
      .message = fmt::format("{} gave a wrong word, at {} of {}; bits that flipped: {}. Likely {}.",
                             counted(log.errors(), "read"), log.addresses(), format_gib(bytes),
                             hex(log.flipped()), log.likely_cause()),
      .where = "RAM"};
  for (const auto& [key, word] : log.words()) {
    if (finding.evidence.size() >= most_lines_of_evidence) break;
    finding.evidence.push_back(evidence_of(word, log.verdict_of(word)));
  }
  const auto arguments = log.kernel_arguments(PageMap::page_bytes());
  if (!arguments.empty()) {
    std::string all;
    for (std::size_t i = 0; i < std::min<std::size_t>(arguments.size(), 16); ++i) {
      all += (all.empty() ? "" : " ") + arguments[i];
    }
    if (arguments.size() > 16) {
      all += fmt::format("  and {} more, in the report's details", arguments.size() - 16);
    }
    finding = reports::complete(std::move(finding));
    finding.remedy.push_back("until then keep an x86 kernel off these pages with  " + all);
    if (!log.has_all_words()) {
      finding.remedy.push_back(
          "but more words failed than are known by address: these are not all "
          "the bad pages");
    }
  }
  recorder.finding(std::move(finding));
  recorder.headline(counted(log.errors(), "error"));
}

void report_edac(reports::StepRecorder& recorder, std::optional<EdacCounts> before,
                 std::optional<EdacCounts> after) {
  if (!before || !after) {
    recorder.log(reports::Severity::info,
                 "EDAC is unavailable: whether ECC corrected errors is unknown");
    recorder.detail("edac", "unavailable");
    return;
  }
  const auto counts = [](const EdacCounts& c) {
    return nlohmann::json{{"ce_count", c.corrected}, {"ue_count", c.uncorrected}};
  };
  recorder.detail("edac", {{"before", counts(*before)}, {"after", counts(*after)}});
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

bool memory_is_short(const Machine& machine, const BoardProfile& board) {
  if (!board.memory) return false;
  const auto seen = memory_seen(machine, board.memory->page_bytes);
  return seen && static_cast<std::int64_t>(*seen) < least_seen(*board.memory);
}

Result<> report_size(reports::StepRecorder& recorder, const Machine& machine,
                     const BoardProfile& board) {
  if (!board.memory) return {};
  const auto seen = memory_seen(machine, board.memory->page_bytes);
  if (!seen) return std::unexpected(seen.error());
  const std::int64_t least = least_seen(*board.memory);
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

void offline_pages(reports::StepRecorder& recorder, const Machine& machine, const ErrorLog& log) {
  const std::vector<std::uint64_t> pages = log.bad_pages(PageMap::page_bytes());
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
      recorder.log(reports::Severity::warning, "the kernel retired the page at " + text);
    } else {
      recorder.log(
          reports::Severity::warning,
          fmt::format("the kernel did not retire the page at {}: {}", text, std::strerror(errno)));
    }
  }
  if (pages.empty()) {
    recorder.log(reports::Severity::warning,
                 "no page to retire: the physical address of no error is known");
  } else if (!log.has_all_words()) {
    recorder.log(reports::Severity::warning,
                 "more words failed than are known by address: not all bad pages were retired");
  }
}

}  // namespace assay::probes
