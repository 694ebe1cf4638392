#include "tui/panels.h"

#include <algorithm>
#include <cmath>

namespace assay::tui {

using reports::StepState;
using reports::Verdict;

int Area::put(int row, int col, std::string_view text, Role role) const {
  if (row < 0 || row >= rect_.rows || col < 0 || col >= rect_.cols) return 0;
  return canvas_->put(rect_.row + row, rect_.col + col, text, role, rect_.cols - col);
}

void Area::put_short(int row, int col, std::string_view text, Role role) const {
  put(row, col, shorten(text, rect_.cols - col, utf8()), role);
}

Area Area::framed(std::string_view title) const {
  const bool box = utf8();
  const auto line = [&](std::string_view left, std::string_view middle, std::string_view right) {
    std::string text(left);
    for (int i = 2; i < cols(); ++i) text += middle;
    return text.append(right);
  };
  if (rows() < 2 || cols() < 4) return *this;
  put(0, 0, box ? line("┌", "─", "┐") : line("+", "-", "+"), Role::dim);
  put_short(0, 2, shorten(" " + std::string(title) + " ", cols() - 4, box), Role::title);
  for (int row = 1; row < rows() - 1; ++row) {
    put(row, 0, box ? "│" : "|", Role::dim);
    put(row, cols() - 1, box ? "│" : "|", Role::dim);
  }
  put(rows() - 1, 0, box ? line("└", "─", "┘") : line("+", "-", "+"), Role::dim);
  return Area(*canvas_, {rect_.row + 1, rect_.col + 2, rect_.rows - 2, rect_.cols - 4});
}

std::string_view mark_of(StepState state, bool utf8) {
  static constexpr std::string_view signs[] = {"·", "▶", "✔", "✘", "!", "-"};
  static constexpr std::string_view words[] = {"    ", "RUN ", "PASS", "FAIL", "ERR ", "SKIP"};
  return (utf8 ? signs : words)[static_cast<int>(state)];
}

std::string_view mark_of(Verdict verdict, bool utf8) {
  static constexpr std::string_view signs[] = {"▶", "✔", "✘", "!", "■"};
  static constexpr std::string_view ascii[] = {">", "+", "X", "!", "#"};
  return (utf8 ? signs : ascii)[static_cast<int>(verdict)];
}

Role role_of(StepState state) {
  static constexpr Role roles[] = {Role::dim,  Role::accent, Role::pass,
                                   Role::fail, Role::warn,   Role::dim};
  return roles[static_cast<int>(state)];
}

Role role_of(Verdict verdict) {
  static constexpr Role roles[] = {Role::accent, Role::pass, Role::fail, Role::warn, Role::warn};
  return roles[static_cast<int>(verdict)];
}

std::string bar_text(double fraction, int width, bool utf8) {
  const int filled =
      std::clamp(static_cast<int>(std::lround(fraction * width)), 0, std::max(0, width));
  std::string text;
  for (int i = 0; i < width; ++i) text += i < filled ? (utf8 ? "█" : "#") : (utf8 ? "░" : ".");
  return text;
}

std::string sparkline(const std::deque<double>& samples, int width, bool utf8) {
  static constexpr std::string_view blocks[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  static constexpr std::string_view digits[] = {"0", "1", "2", "3", "4", "5", "6", "7"};
  const auto count = std::min(samples.size(), static_cast<std::size_t>(std::max(0, width)));
  if (count == 0) return {};
  const auto first = samples.end() - static_cast<std::ptrdiff_t>(count);
  const auto [least, greatest] = std::minmax_element(first, samples.end());
  const double range = *greatest - *least;
  std::string text;
  for (auto sample = first; sample != samples.end(); ++sample) {
    // Values that do not move lie low; so does what cannot be scaled.
    const double level = range > 0 && std::isfinite(range) ? (*sample - *least) / range : 0;
    const int step = std::clamp(static_cast<int>(level * 7 + 0.5), 0, 7);
    text += (utf8 ? blocks : digits)[step];
  }
  return text;
}

}  // namespace assay::tui
