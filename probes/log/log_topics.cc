#include "probes/log/log_topics.h"

#include <fmt/core.h>

#include <algorithm>
#include <bit>

#include "base/units.h"

namespace assay::probes {
namespace {

constexpr std::uint64_t mebibyte = std::uint64_t{1} << 20;
// kernel/dma/swiotlb.c: IO_TLB_SEGSIZE slots of 1 << IO_TLB_SHIFT bytes are the longest run.
constexpr std::uint64_t bounce_slot_bytes = 2048;
constexpr std::uint64_t largest_bounce_bytes = 128 * bounce_slot_bytes;

std::optional<std::uint64_t> field_number(const LogFields& fields, std::string_view name) {
  const auto found = fields.find(name);
  return found == fields.end() ? std::nullopt : number_in(found->second);
}

// What a failed request asked for.
std::optional<std::uint64_t> needed_bytes(const LogFields& fields, std::uint64_t page_bytes) {
  if (const auto size = field_number(fields, "size")) return size;
  if (const auto pages = field_number(fields, "pages")) return multiplied(*pages, page_bytes);
  if (const auto order = field_number(fields, "order")) return bytes_of_order(*order, page_bytes);
  return std::nullopt;
}

void say(TopicText& text, const std::string& sentence) {
  text.sentences += (text.sentences.empty() ? "" : " ") + sentence;
}

// The kernel's argument for an area that has room for so much: "cma=128M".
std::string cma_argument(std::uint64_t bytes) {
  const std::uint64_t most = std::uint64_t{1} << 40;
  const std::uint64_t mib = (std::min(bytes, most) + mebibyte - 1) / mebibyte;
  return fmt::format("cma={}M", std::bit_ceil(mib));
}

std::string at_least(const FreeMemory& list) {
  return list.is_whole() ? "" : "at least ";
}

// "3.1 GiB was free, the largest block 64 KiB"; and how much that was.
std::uint64_t say_free(TopicText& text, const LogFacts& facts) {
  if (facts.last_list && !facts.last_list->empty()) {
    const UsableMemory all = facts.last_list->usable_for("");
    const std::string at =
        facts.last_list_time.empty() ? "" : fmt::format(" (at {})", facts.last_list_time);
    say(text, fmt::format("The same log lists {}{} free{}, the largest block {}.",
                          at_least(*facts.last_list), format_gib(all.free_bytes), at,
                          format_gib(all.largest_bytes)));
    return all.free_bytes;
  }
  if (facts.available_bytes) {
    say(text, fmt::format("The kernel had {} available at its start.",
                          format_gib(*facts.available_bytes)));
    return *facts.available_bytes;
  }
  say(text, "The log does not say what was free.");
  return 0;
}

std::optional<std::uint64_t> area_bytes(const LogFacts& facts, std::uint64_t page_bytes) {
  if (facts.cma_free) return multiplied(facts.cma_free->total_pages, page_bytes);
  if (facts.cma_bytes) return facts.cma_bytes;
  if (facts.last_list && facts.last_list->cma_pages()) {
    return multiplied(*facts.last_list->cma_pages(), page_bytes);
  }
  return std::nullopt;
}

TopicText about_cma(const LogFields& fields, const LogFacts& facts, std::uint64_t page_bytes) {
  TopicText text;
  const std::uint64_t needed = needed_bytes(fields, page_bytes).value_or(0);
  const auto area = area_bytes(facts, page_bytes);
  if (facts.cma_free) {
    say(text, fmt::format("The area has {}; {} of it was free, the longest run {}.",
                          format_gib(area.value_or(0)),
                          format_gib(multiplied(facts.cma_free->free_pages, page_bytes)),
                          format_gib(multiplied(facts.cma_free->longest_run_pages, page_bytes))));
  } else if (area) {
    say(text, fmt::format("The memory for CMA is {} in all.", format_gib(*area)));
  } else {
    say(text, "The log does not say how large the area is.");
  }
  say_free(text, facts);
  const std::uint64_t room =
      needed > UINT64_MAX - area.value_or(0) ? UINT64_MAX : needed + area.value_or(0);
  if (area && needed > *area) {
    text.likely = {"the request is larger than the whole area"};
  } else if (fields.contains("errno") && fields.find("errno")->second == "-16") {
    text.likely = {"pages inside the area are pinned or under way and could not be moved out"};
  } else {
    text.likely = {"others hold the area, or what is free of it lies in pieces"};
  }
  text.remedy = {
      fmt::format("give the area more room: kernel argument {}, or the size of linux,cma "
                  "in the device tree",
                  cma_argument(room)),
      "make the driver allocate early, before the area is in pieces",
      "use the device's IOMMU, which needs no contiguous memory"};
  return text;
}

// " in the zones that serve it (DMA32)"; empty where all do.
std::string zones_text(const UsableMemory& usable) {
  return usable.zones.empty() ? "" : fmt::format(" in the zones that serve it ({})", usable.zones);
}

std::string kept_text(const UsableMemory& usable) {
  return usable.usable_bytes == usable.free_bytes
             ? ""
             : fmt::format(" ({} of it kept for CMA, atomic requests or isolated)",
                           format_gib(usable.free_bytes - usable.usable_bytes));
}

TopicText about_pages(const LogFields& fields, const FreeMemory* list, std::uint64_t page_bytes) {
  TopicText text;
  if (list == nullptr || list->empty()) {
    say(text, "The log does not say what was free.");
    return text;
  }
  const std::uint64_t needed = needed_bytes(fields, page_bytes).value_or(page_bytes);
  const auto mode = fields.find("mode");
  const UsableMemory usable = list->usable_for(mode == fields.end() ? "" : mode->second);
  const std::string zones = zones_text(usable);
  const std::string free = at_least(*list) + format_gib(usable.free_bytes);
  if (usable.free_bytes < needed) {
    say(text, fmt::format("Only {} was free{}.", free, zones));
    text.likely = {zones.empty()
                       ? "the memory is used up"
                       : "the zones that a device with few address bits can use are full"};
    text.remedy = {"end what takes the memory, or use a smaller model",
                   "look at the largest processes of an  out of memory  list in the same log"};
    return text;
  }
  const std::string kept = kept_text(usable);
  if (usable.largest_bytes >= needed) {
    say(text,
        fmt::format("{} was free{}{}, in blocks of up to {}: large enough, but below what the "
                    "zone keeps as its reserve.",
                    free, zones, kept, format_gib(usable.largest_bytes)));
    text.likely = {"the zone was at its watermark: memory ran out faster than it was reclaimed"};
    text.remedy = {"raise vm.min_free_kbytes", "end what takes the memory"};
    return text;
  }
  say(text, fmt::format("{} was free{}{}, but the largest block that it may have was {}.", free,
                        zones, kept, format_gib(usable.largest_bytes)));
  text.likely = {"the memory is in pieces: free pages lie between used ones"};
  text.remedy = {"allocate large buffers at boot, before the memory is in pieces",
                 "echo 1 > /proc/sys/vm/compact_memory  joins free pages where they can be moved",
                 "look at  assay frag  for what cannot be joined"};
  return text;
}

TopicText about_bounce(const LogFields& fields, const LogFacts& facts) {
  TopicText text;
  const auto needed = field_number(fields, "size");
  if (facts.bounce_bytes) {
    say(text, fmt::format("The pool has {}.", format_gib(*facts.bounce_bytes)));
  }
  if (needed && *needed > largest_bounce_bytes) {
    say(text, fmt::format("One request cannot have more than {} of it, however large it is.",
                          format_gib(largest_bounce_bytes)));
    text.likely = {
        "a request larger than a bounce buffer can be, from a device whose address bits "
        "or missing IOMMU force it through the pool"};
    text.remedy = {"enable the IOMMU, or correct the device's dma-ranges or DMA mask",
                   "use a driver that limits its requests (dma_max_mapping_size)"};
    return text;
  }
  const std::uint64_t slots = facts.bounce_bytes.value_or(64 * mebibyte) / bounce_slot_bytes * 2;
  text.remedy = {
      "enable the IOMMU, or correct the device's dma-ranges or DMA mask, so that it "
      "needs no bounce buffers",
      fmt::format("enlarge the pool: kernel argument swiotlb={} ({})", slots,
                  format_gib(slots * bounce_slot_bytes))};
  return text;
}

TopicText about_dma(const LogFacts& facts, std::uint64_t page_bytes) {
  TopicText text;
  if (const auto area = area_bytes(facts, page_bytes)) {
    say(text, fmt::format("The memory for CMA is {} in all.", format_gib(*area)));
  }
  say_free(text, facts);
  return text;
}

TopicText about_npu(const LogFields& fields, const LogFacts& facts, std::uint64_t page_bytes) {
  if (!facts.npu_has_iommu) return about_dma(facts, page_bytes);
  TopicText text;
  const auto needed = needed_bytes(fields, page_bytes);
  say(text, *facts.npu_has_iommu
                ? fmt::format("{} runs with its IOMMU.", facts.npu)
                : fmt::format("{} runs without an IOMMU, so that its buffer must be one run of "
                              "physical pages.",
                              facts.npu));
  if (const auto area = area_bytes(facts, page_bytes)) {
    say(text, fmt::format("The memory for CMA is {} in all.", format_gib(*area)));
  }
  const std::uint64_t free = say_free(text, facts);
  if (*facts.npu_has_iommu) {
    text.likely = {"the model needs more memory than was free",
                   "the NPU's own address space is full: it is smaller than the memory"};
    text.remedy = {"end what takes the memory, or quantize the model further",
                   "update the NPU's driver: newer ones have several address spaces"};
    return text;
  }
  text.likely = {needed && free >= *needed
                     ? "no run of free pages is that long, however much is free in all"
                     : "no run of free pages is that long"};
  text.remedy = {"enable the NPU's IOMMU in the device tree: then the pages may lie anywhere"};
  if (needed) {
    text.remedy.push_back(fmt::format("else reserve contiguous memory at boot: kernel argument {}",
                                      cma_argument(multiplied(*needed, 2))));
  }
  text.remedy.push_back("quantize the model further, or load it in parts");
  return text;
}

TopicText about_kill(const LogFields& fields, const FreeMemory* list) {
  TopicText text;
  if (list == nullptr || list->empty()) return text;
  const auto mode = fields.find("mode");
  const UsableMemory usable = list->usable_for(mode == fields.end() ? "" : mode->second);
  say(text, fmt::format("{}{} was free then{}{}.", at_least(*list), format_gib(usable.free_bytes),
                        zones_text(usable), kept_text(usable)));
  return text;
}

}  // namespace

TopicText topic_text(LogTopic topic, const LogFields& fields, const FreeMemory* list,
                     const LogFacts& facts, std::uint64_t page_bytes) {
  switch (topic) {
    case LogTopic::none:
      break;
    case LogTopic::cma:
      return about_cma(fields, facts, page_bytes);
    case LogTopic::page_allocation:
      return about_pages(fields, list, page_bytes);
    case LogTopic::bounce_buffer:
      return about_bounce(fields, facts);
    case LogTopic::npu_buffer:
      return about_npu(fields, facts, page_bytes);
    case LogTopic::dma_buffer:
      return about_dma(facts, page_bytes);
    case LogTopic::out_of_memory:
      return about_kill(fields, list);
  }
  return {};
}

}  // namespace assay::probes
