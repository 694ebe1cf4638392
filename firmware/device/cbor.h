// As much of CBOR (RFC 8949) as the management protocol needs: maps with text keys, unsigned
// numbers, byte and text strings, booleans; anything else in a map is stepped over. Freestanding,
// bounded, no recursion.
#pragma once

#include <cstddef>
#include <cstdint>

namespace assay::firmware::device {

class CborWriter {
 public:
  // What does not fit is left out, and fits() says so.
  CborWriter(std::uint8_t* out, std::size_t capacity) : out_(out), capacity_(capacity) {}

  void map(std::uint32_t pairs) { head(5, pairs); }
  void array(std::uint32_t items) { head(4, items); }
  void number(std::uint32_t value) { head(0, value); }
  void text(const char* value);
  void text(const std::uint8_t* value, std::size_t size);
  void bytes(const std::uint8_t* value, std::size_t size);
  void boolean(bool value) { put(value ? 0xF5 : 0xF4); }

  std::size_t size() const { return size_; }
  bool fits() const { return fits_; }

 private:
  void put(std::uint8_t byte);
  void head(std::uint8_t major, std::uint32_t value);

  std::uint8_t* out_;
  std::size_t capacity_;
  std::size_t size_ = 0;
  bool fits_ = true;
};

// One value of a map; points into what was given to the reader.
struct CborValue {
  enum class Type : std::uint8_t { none, number, bytes, text, boolean, other };
  Type type = Type::none;
  std::uint32_t number = 0;  // also of a boolean: 0 or 1
  const std::uint8_t* data = nullptr;
  std::size_t size = 0;
};

class CborReader {
 public:
  CborReader(const std::uint8_t* in, std::size_t size) : in_(in), size_(size) {}

  // The value of that key in the map that the bytes begin with. False when the bytes are no such
  // map; `value` is of type none when the key is not there.
  bool find(const char* key, CborValue* value);

 private:
  struct Head {
    std::uint8_t major = 0;
    std::uint8_t info = 0;
    std::uint64_t value = 0;
  };
  bool head(Head* head);
  bool item(CborValue* value);
  bool skip_nested(const Head& first);

  const std::uint8_t* in_;
  std::size_t size_;
  std::size_t at_ = 0;
};

}  // namespace assay::firmware::device
