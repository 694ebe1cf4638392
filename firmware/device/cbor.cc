#include "firmware/device/cbor.h"

namespace assay::firmware::device {
namespace {

constexpr std::uint8_t indefinite = 31;
constexpr std::uint8_t break_code = 0xFF;
constexpr unsigned most_levels = 8;

bool same(const CborValue& value, const char* text) {
  std::size_t i = 0;
  for (; i < value.size; ++i) {
    if (text[i] == '\0' || static_cast<std::uint8_t>(text[i]) != value.data[i]) return false;
  }
  return text[i] == '\0';
}

}  // namespace

void CborWriter::put(std::uint8_t byte) {
  if (size_ == capacity_) {
    fits_ = false;
    return;
  }
  out_[size_++] = byte;
}

// The shortest form, as section 4.2.1 wants it.
void CborWriter::head(std::uint8_t major, std::uint32_t value) {
  const auto first = static_cast<std::uint8_t>(major << 5);
  if (value < 24) {
    put(static_cast<std::uint8_t>(first | value));
    return;
  }
  const unsigned bytes = value < 0x100 ? 1 : value < 0x10000 ? 2 : 4;
  put(static_cast<std::uint8_t>(first | (bytes == 1 ? 24 : bytes == 2 ? 25 : 26)));
  for (unsigned i = bytes; i > 0; --i) put(static_cast<std::uint8_t>(value >> (8 * (i - 1))));
}

void CborWriter::text(const char* value) {
  std::size_t size = 0;
  while (value[size] != '\0') ++size;
  text(reinterpret_cast<const std::uint8_t*>(value), size);
}

void CborWriter::text(const std::uint8_t* value, std::size_t size) {
  head(3, static_cast<std::uint32_t>(size));
  for (std::size_t i = 0; i < size; ++i) put(value[i]);
}

void CborWriter::bytes(const std::uint8_t* value, std::size_t size) {
  head(2, static_cast<std::uint32_t>(size));
  for (std::size_t i = 0; i < size; ++i) put(value[i]);
}

bool CborReader::head(Head* head) {
  if (at_ == size_) return false;
  const std::uint8_t first = in_[at_++];
  head->major = first >> 5;
  head->info = first & 31;
  head->value = head->info;
  if (head->info < 24) return true;
  if (head->info == indefinite) return head->major >= 2 && head->major <= 5;
  if (head->info > 27) return false;
  const std::size_t bytes = std::size_t{1} << (head->info - 24);
  if (size_ - at_ < bytes) return false;
  head->value = 0;
  for (std::size_t i = 0; i < bytes; ++i) head->value = head->value << 8 | in_[at_++];
  return true;
}

bool CborReader::item(CborValue* value) {
  Head h;
  if (!head(&h)) return false;
  *value = CborValue();
  value->type = CborValue::Type::other;
  const bool is_string = h.major == 2 || h.major == 3;
  if (is_string && h.info != indefinite) {
    if (h.value > size_ - at_) return false;
    value->type = h.major == 2 ? CborValue::Type::bytes : CborValue::Type::text;
    value->data = in_ + at_;
    value->size = static_cast<std::size_t>(h.value);
    at_ += value->size;
    return true;
  }
  if (h.major == 0 && h.value <= UINT32_MAX) {
    value->type = CborValue::Type::number;
    value->number = static_cast<std::uint32_t>(h.value);
    return true;
  }
  if (h.major == 7 && (h.info == 20 || h.info == 21)) {
    value->type = CborValue::Type::boolean;
    value->number = h.info - 20U;
    return true;
  }
  return skip_nested(h);
}

// Steps over what the head began: arrays, maps, tags, strings in pieces.
bool CborReader::skip_nested(const Head& first) {
  // How many items are left at each level; UINT64_MAX: until a break.
  std::uint64_t left[most_levels];
  unsigned level = 0;
  Head h = first;
  for (;;) {
    std::uint64_t items = 0;
    if (h.info == indefinite) {
      items = UINT64_MAX;
    } else if (h.major == 4) {
      items = h.value;
    } else if (h.major == 5) {
      items = h.value > UINT32_MAX ? UINT32_MAX : h.value * 2;
    } else if (h.major == 6) {
      items = 1;
    } else if (h.major == 2 || h.major == 3) {
      if (h.value > size_ - at_) return false;
      at_ += static_cast<std::size_t>(h.value);
    }
    if (items > 0) {
      if (level == most_levels) return false;
      left[level++] = items;
    }
    // Levels that are at their end.
    for (;;) {
      if (level == 0) return true;
      std::uint64_t& rest = left[level - 1];
      if (rest == UINT64_MAX) {
        if (at_ == size_) return false;
        if (in_[at_] != break_code) break;
        ++at_;
      } else if (rest > 0) {
        --rest;
        break;
      }
      --level;
    }
    if (!head(&h)) return false;
  }
}

bool CborReader::find(const char* key, CborValue* value) {
  *value = CborValue();
  at_ = 0;
  Head map;
  if (!head(&map) || map.major != 5) return false;
  bool found = false;
  for (std::uint64_t pair = 0; map.info == indefinite || pair < map.value; ++pair) {
    if (map.info == indefinite && at_ < size_ && in_[at_] == break_code) break;
    CborValue name;
    CborValue item_value;
    if (!item(&name) || !item(&item_value)) return false;
    if (!found && name.type == CborValue::Type::text && same(name, key)) {
      *value = item_value;
      found = true;
    }
  }
  return true;
}

}  // namespace assay::firmware::device
