#include "tests/runtime/reference.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>

namespace assay::runtime::reference {
namespace {

using Vector = std::vector<double>;

template <class T>
T read(const std::byte* from, std::size_t index) {
  T value;
  std::memcpy(&value, from + index * sizeof(T), sizeof(T));
  return value;
}

// A floating point number of any small format without infinities.
double number(unsigned code, int exponent_bits, int mantissa_bits) {
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const unsigned mantissa = code & ((1U << mantissa_bits) - 1U);
  const int exponent = static_cast<int>(code >> mantissa_bits) & ((1 << exponent_bits) - 1);
  const bool negative = (code >> (exponent_bits + mantissa_bits)) != 0;
  const double fraction = mantissa * std::pow(2.0, -mantissa_bits);
  const double magnitude = exponent == 0 ? fraction * std::pow(2.0, 1 - bias)
                                         : (1.0 + fraction) * std::pow(2.0, exponent - bias);
  return negative ? -magnitude : magnitude;
}

Vector times(const Matrix& m, const Vector& x) {
  Vector out(m.rows);
  for (std::size_t r = 0; r < m.rows; ++r) {
    for (std::size_t c = 0; c < m.cols; ++c) out[r] += weight(m, r, c) * x[c];
  }
  return out;
}

Vector normed(const Vector& x, const float* gain, double eps) {
  double squares = 0;
  for (const double v : x) squares += v * v;
  const double root = std::sqrt(squares / static_cast<double>(x.size()) + eps);
  Vector out(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) out[i] = x[i] / root * gain[i];
  return out;
}

void rotate(Vector& x, std::size_t head_dim, double theta, std::size_t position) {
  for (std::size_t start = 0; start < x.size(); start += head_dim) {
    for (std::size_t i = 0; i < head_dim / 2; ++i) {
      const double angle =
          static_cast<double>(position) *
          std::pow(theta, -2.0 * static_cast<double>(i) / static_cast<double>(head_dim));
      double& a = x[start + i];
      double& b = x[start + i + head_dim / 2];
      const double old = a;
      a = old * std::cos(angle) - b * std::sin(angle);
      b = old * std::sin(angle) + b * std::cos(angle);
    }
  }
}

Vector softmax(Vector x) {
  const double top = *std::ranges::max_element(x);
  double sum = 0;
  for (double& v : x) sum += v = std::exp(v - top);
  for (double& v : x) v /= sum;
  return x;
}

Vector block(const BlockWeights& weights, const Vector& x) {
  Vector gate = times(weights.gate, x);
  const Vector up = times(weights.up, x);
  for (std::size_t i = 0; i < gate.size(); ++i) gate[i] *= up[i] / (1.0 + std::exp(-gate[i]));
  return times(weights.down, gate);
}

void add(Vector& into, const Vector& x, double factor = 1.0) {
  for (std::size_t i = 0; i < into.size(); ++i) into[i] += factor * x[i];
}

Vector attention(const ModelShape& s, const Vector& query, const std::vector<Vector>& keys,
                 const std::vector<Vector>& values) {
  Vector out(query.size());
  for (std::size_t head = 0; head < s.heads; ++head) {
    const std::size_t q = head * s.head_dim;
    const std::size_t kv = head / (s.heads / s.kv_heads) * s.head_dim;
    Vector scores;
    for (const Vector& key : keys) {
      double sum = 0;
      for (std::size_t i = 0; i < s.head_dim; ++i) sum += query[q + i] * key[kv + i];
      scores.push_back(sum / std::sqrt(static_cast<double>(s.head_dim)));
    }
    scores = softmax(scores);
    for (std::size_t p = 0; p < values.size(); ++p) {
      for (std::size_t i = 0; i < s.head_dim; ++i) out[q + i] += scores[p] * values[p][kv + i];
    }
  }
  return out;
}

void add_experts(const ModelShape& s, const LayerWeights& layer, const Vector& x, Vector& stream,
                 double& margin) {
  const Vector p = softmax(times(layer.router, x));
  std::vector<std::size_t> order(p.size());
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::sort(
      order, [&](std::size_t a, std::size_t b) { return p[a] != p[b] ? p[a] > p[b] : a < b; });
  double sum = 0;
  for (std::size_t i = 0; i < s.experts_used; ++i) sum += p[order[i]];
  if (s.experts_used < s.experts) {
    margin = std::min(margin, p[order[s.experts_used - 1]] - p[order[s.experts_used]]);
  }
  for (std::size_t i = 0; i < s.experts_used; ++i) {
    add(stream, block(layer.blocks[order[i]], x), p[order[i]] / sum);
  }
}

}  // namespace

double half(std::uint16_t code) {
  return number(code, 5, 10);
}

double fp8_e4m3(std::uint8_t code) {
  if ((code & 0x7F) == 0x7F) return std::numeric_limits<double>::quiet_NaN();
  return number(code, 4, 3);
}

double weight(const Matrix& m, std::size_t row, std::size_t col) {
  const std::size_t at = row * m.cols + col;
  switch (m.type) {
    case TensorType::f32:
      return read<float>(m.codes, at);
    case TensorType::f16:
      return half(read<std::uint16_t>(m.codes, at));
    case TensorType::fp8_e4m3:
      return fp8_e4m3(read<std::uint8_t>(m.codes, at)) * read<float>(m.scales, row);
    case TensorType::int8:
      return read<std::int8_t>(m.codes, at) * read<float>(m.scales, row);
    case TensorType::int4: {
      const std::size_t group = at / 32;
      const std::size_t in_group = at % 32;
      const auto pair = read<std::uint8_t>(m.codes, group * 16 + in_group % 16);
      const int code = in_group < 16 ? pair % 16 : pair / 16;
      return (code - 8) * half(read<std::uint16_t>(m.scales, group));
    }
  }
  return 0;
}

Pass forward(const LoadedModel& model, const std::vector<std::uint32_t>& ids) {
  const ModelShape& s = model.layout().shape;
  const ModelWeights& w = model.weights();
  Pass pass;
  std::vector<Vector> stream(ids.size(), Vector(s.width));
  for (std::size_t t = 0; t < ids.size(); ++t) {
    for (std::size_t i = 0; i < s.width; ++i) stream[t][i] = weight(w.embedding, ids[t], i);
  }
  for (const LayerWeights& layer : w.layers) {
    std::vector<Vector> keys;
    std::vector<Vector> values;
    for (std::size_t t = 0; t < ids.size(); ++t) {
      const Vector x = normed(stream[t], layer.attention_norm, s.norm_eps);
      Vector query = times(layer.query, x);
      keys.push_back(times(layer.key, x));
      values.push_back(times(layer.value, x));
      rotate(query, s.head_dim, s.rope_theta, t);
      rotate(keys.back(), s.head_dim, s.rope_theta, t);
      add(stream[t], times(layer.output, attention(s, query, keys, values)));
    }
    for (Vector& x : stream) {
      const Vector y = normed(x, layer.ffn_norm, s.norm_eps);
      if (s.is_moe()) {
        add_experts(s, layer, y, x, pass.routing_margin);
      } else {
        add(x, block(layer.blocks[0], y));
      }
    }
  }
  for (const Vector& x : stream) {
    pass.logits.push_back(times(w.head, normed(x, w.final_norm, s.norm_eps)));
  }
  return pass;
}

}  // namespace assay::runtime::reference
