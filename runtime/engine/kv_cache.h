// Keys and values of the positions so far. Pages are taken as positions are used.
#pragma once

#include <cstddef>
#include <memory>

#include "runtime/model/shape.h"

namespace assay::runtime {

class KvCache {
 public:
  KvCache(const ModelShape& shape, std::size_t layers, std::size_t context)
      : kv_heads_(shape.kv_heads),
        head_dim_(shape.head_dim),
        context_(context),
        keys_(std::make_unique_for_overwrite<float[]>(layers * context * shape.kv_width())),
        values_(std::make_unique_for_overwrite<float[]>(layers * context * shape.kv_width())) {}

  std::size_t context() const { return context_; }

  // Of one head, [context, head_dim]: positions are neighbours, as attention reads them.
  float* keys(std::size_t layer, std::size_t head) { return keys_.get() + start(layer, head); }
  float* values(std::size_t layer, std::size_t head) { return values_.get() + start(layer, head); }

 private:
  std::size_t start(std::size_t layer, std::size_t head) const {
    return (layer * kv_heads_ + head) * context_ * head_dim_;
  }

  std::size_t kv_heads_;
  std::size_t head_dim_;
  std::size_t context_;
  std::unique_ptr<float[]> keys_;
  std::unique_ptr<float[]> values_;
};

}  // namespace assay::runtime
