#include "runtime/tokenizer/stream_decoder.h"

#include <utility>

#include "runtime/tokenizer/utf8_char.h"

namespace assay::runtime {

StreamDecoder::StreamDecoder(const Tokenizer& tokenizer, Place place, Controls controls)
    : tokenizer_(tokenizer),
      controls_(controls),
      drop_space_(place == Place::beginning && tokenizer.has_space_prefix()) {}

std::string StreamDecoder::push(TokenId id) {
  TokenText text = tokenizer_.text_of(id);
  if (text.begins_text) {
    drop_space_ = tokenizer_.has_space_prefix();
  } else if (drop_space_ && !text.bytes.empty()) {
    if (text.bytes.front() == ' ') text.bytes.remove_prefix(1);
    drop_space_ = false;
  }
  if (text.control && controls_ == Controls::hidden) return {};
  held_ += text.bytes;
  const std::size_t certain = held_.size() - unfinished_bytes(held_);
  std::string out = held_.substr(0, certain);
  held_.erase(0, certain);
  return out;
}

std::string StreamDecoder::finish() {
  return std::exchange(held_, {});
}

}  // namespace assay::runtime
