#include "probes/fragmentation/npu_pool.h"

#include <charconv>
#include <optional>
#include <string>

namespace assay::probes {
namespace {

struct Field {
  std::string_view name;
  std::optional<std::uint64_t> value;
};

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r");
  if (first == text.npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

std::unexpected<Error> no_account(std::string what) {
  return fail(ErrorKind::protocol, std::move(what));
}

}  // namespace

Result<runtime::PoolInfo> parse_pool_info(std::string_view text) {
  Field fields[] = {{"total_bytes", std::nullopt},
                    {"free_bytes", std::nullopt},
                    {"largest_free_block", std::nullopt},
                    {"live_mappings", std::nullopt}};
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const std::size_t colon = line.find(':');
    if (colon == line.npos) continue;
    const std::string_view name = trimmed(line.substr(0, colon));
    for (Field& field : fields) {
      if (name != field.name) continue;
      const std::string_view number = trimmed(line.substr(colon + 1));
      std::uint64_t value = 0;
      const auto [at, error] = std::from_chars(number.data(), number.data() + number.size(), value);
      if (error != std::errc{} || at != number.data() + number.size() || field.value) {
        return no_account(std::string(field.name) + ": expected one number");
      }
      field.value = value;
    }
  }
  for (const Field& field : fields) {
    if (!field.value) return no_account("no " + std::string(field.name) + " in it");
  }
  const runtime::PoolInfo pool{*fields[0].value, *fields[1].value, *fields[2].value,
                               *fields[3].value};
  if (pool.free_bytes > pool.total_bytes || pool.largest_free_block_bytes > pool.free_bytes) {
    return no_account("more is free than there is");
  }
  return pool;
}

Result<runtime::PoolInfo> read_pool_info(const Machine& machine, const BoardProfile& board) {
  const std::string file = board.npu ? board.npu->mapping.pool_file : std::string();
  if (file.empty()) {
    return fail(ErrorKind::unavailable, "the board's profile names no account of an NPU's pool");
  }
  const auto text = machine.read(file);
  if (!text) return std::unexpected(text.error());
  auto pool = parse_pool_info(*text);
  if (!pool) pool.error().where = file;
  return pool;
}

}  // namespace assay::probes
