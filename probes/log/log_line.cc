#include "probes/log/log_line.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>

#include "base/utf8.h"

namespace assay::probes {
namespace {

constexpr std::size_t most_time_bytes = 48;

bool is_figure(char c) {
  return c >= '0' && c <= '9';
}
bool is_small_letter(char c) {
  return c >= 'a' && c <= 'z';
}
bool is_capital(char c) {
  return c >= 'A' && c <= 'Z';
}

// Reads a line from its start; each step takes its text or leaves everything as it was.
class PrefixCursor {
 public:
  explicit PrefixCursor(std::string_view text) : rest_(text) {}

  std::string_view rest() const { return rest_; }
  bool done() const { return rest_.empty(); }
  char next() const { return rest_.empty() ? '\0' : rest_.front(); }

  void skip_spaces() { rest_.remove_prefix(std::min(rest_.find_first_not_of(' '), rest_.size())); }
  bool take(char c) {
    if (next() != c || rest_.empty()) return false;
    rest_.remove_prefix(1);
    return true;
  }
  // A shape: 'd' is a digit, 'D' a digit or a space, 'a' a letter, anything else itself.
  bool take_shape(std::string_view shape) {
    if (rest_.size() < shape.size()) return false;
    for (std::size_t i = 0; i < shape.size(); ++i) {
      const char c = rest_[i];
      const bool fits = shape[i] == 'd'   ? is_figure(c)
                        : shape[i] == 'D' ? is_figure(c) || c == ' '
                        : shape[i] == 'a' ? is_small_letter(c) || is_capital(c)
                                          : c == shape[i];
      if (!fits) return false;
    }
    rest_.remove_prefix(shape.size());
    return true;
  }
  template <class Fits>
  std::string_view take_while(Fits fits) {
    const auto end = std::find_if_not(rest_.begin(), rest_.end(), fits);
    const auto length = static_cast<std::size_t>(end - rest_.begin());
    const std::string_view taken = rest_.substr(0, length);
    rest_.remove_prefix(length);
    return taken;
  }
  std::string_view take_digits() { return take_while(is_figure); }
  // ".123456" or ",123456", where there is one.
  void take_fraction() {
    PrefixCursor ahead = *this;
    if ((ahead.take('.') || ahead.take(',')) && !ahead.take_digits().empty()) *this = ahead;
  }

 private:
  std::string_view rest_;
};

// What lies between the two, which are states of one line.
std::string_view between(const PrefixCursor& from, const PrefixCursor& to) {
  return from.rest().substr(0, from.rest().size() - to.rest().size());
}

std::string_view trimmed(std::string_view text) {
  const std::size_t first = std::min(text.find_first_not_of(' '), text.size());
  text.remove_prefix(first);
  return text.substr(0, text.find_last_not_of(' ') + 1);
}

void set_time(LogLine& line, LogClock clock, std::string_view time) {
  // A line of syslog has the kernel's own time behind the date: the date says more.
  if (line.clock != LogClock::none) return;
  line.clock = clock;
  line.time = trimmed(time).substr(0, most_time_bytes);
}

// "4,1204,88123456,-;" and "4,1204,88123456,-,caller=T12;".
bool take_kmsg(PrefixCursor& cursor, LogLine& line) {
  PrefixCursor ahead = cursor;
  if (ahead.take_digits().empty() || !ahead.take(',')) return false;
  if (ahead.take_digits().empty() || !ahead.take(',')) return false;
  const std::string_view time = ahead.take_digits();
  if (time.empty() || !ahead.take(',')) return false;
  ahead.take_while([](char c) { return c != ';'; });
  if (!ahead.take(';')) return false;
  set_time(line, LogClock::boot, time);
  line.is_microseconds = true;
  cursor = ahead;
  return true;
}

// "<6>", and "kern  :info  : " of dmesg -x.
bool take_priority(PrefixCursor& cursor) {
  PrefixCursor ahead = cursor;
  if (ahead.take('<') && !ahead.take_digits().empty() && ahead.take('>')) {
    cursor = ahead;
    return true;
  }
  ahead = cursor;
  if (!ahead.take_shape("kern")) return false;
  ahead.skip_spaces();
  if (!ahead.take(':')) return false;
  ahead.skip_spaces();
  if (ahead.take_while(is_small_letter).empty()) return false;
  ahead.skip_spaces();
  if (!ahead.take(':')) return false;
  ahead.skip_spaces();
  cursor = ahead;
  return true;
}

// "[   12.345678]", "[   12.345678 <    0.000004>]", "[  +0.000004]", "[Dec 3 11:53]",
// "[Thu Dec  3 11:53:01 2026]", and "[ T123]", "[    C0]": who printed it.
bool take_brackets(PrefixCursor& cursor, LogLine& line) {
  PrefixCursor ahead = cursor;
  if (!ahead.take('[')) return false;
  const std::string_view inside =
      ahead.take_while([](char c) { return c != ']' && c != '['; }).substr(0, most_time_bytes + 1);
  if (inside.size() > most_time_bytes || !ahead.take(']')) return false;
  PrefixCursor content(trimmed(inside));
  const PrefixCursor begin = content;
  content.take('+');
  if (!content.take_digits().empty()) {
    const PrefixCursor whole = content;
    content.take_fraction();
    if (between(whole, content).empty()) return false;
    const std::string_view seconds = between(begin, content);
    content.skip_spaces();
    if (content.take('<')) {
      content.take_while([](char c) { return c != '>'; });
      content.take('>');
    }
    if (!content.done()) return false;
    set_time(line, LogClock::boot, seconds);
  } else if (content.take_shape("aaa aaa DD dd:dd:dd dddd") || content.take_shape("aaadd dd:dd") ||
             content.take_shape("aaa DD dd:dd")) {
    if (!content.done()) return false;
    set_time(line, LogClock::wall, begin.rest());
  } else if (content.take('T') || content.take('C')) {
    if (content.take_digits().empty() || !content.done()) return false;
  } else {
    return false;
  }
  ahead.skip_spaces();
  cursor = ahead;
  return true;
}

// "+0000", "+00:00", "Z".
void take_zone(PrefixCursor& cursor) {
  if (cursor.take('Z')) return;
  if (cursor.take_shape("+dd:dd") || cursor.take_shape("-dd:dd")) return;
  if (cursor.take_shape("+dddd") || cursor.take_shape("-dddd")) return;
}

enum class DateOf {
  journal,  // a host and a program follow
  dmesg,    // the message follows
  logcat,   // process, thread, level and tag follow
};

// A date and time outside brackets.
std::optional<DateOf> take_date(PrefixCursor& cursor, LogLine& line) {
  PrefixCursor ahead = cursor;
  std::optional<DateOf> kind;
  if (ahead.take_shape("aaa DD dd:dd:dd")) {  // Dec  3 11:53:01
    ahead.take_fraction();
    kind = DateOf::journal;
  } else if (ahead.take_shape("dddd-dd-ddTdd:dd:dd")) {
    // dmesg writes a comma, all others a point.
    kind = ahead.next() == ',' ? DateOf::dmesg : DateOf::journal;
    ahead.take_fraction();
    take_zone(ahead);
  } else if (ahead.take_shape("aaa dddd-dd-dd dd:dd:dd")) {  // Thu 2026-12-03 11:53:01 UTC
    ahead.take_fraction();
    PrefixCursor zone = ahead;
    if (zone.take(' ') && !zone.take_while([](char c) {
                                 return is_capital(c) || is_figure(c) || c == '+' || c == '-';
                               })
                               .empty()) {
      ahead = zone;
    }
    kind = DateOf::journal;
  } else if (ahead.take_shape("dddd-dd-dd dd:dd:dd.ddd") ||
             ahead.take_shape("dd-dd dd:dd:dd.ddd")) {
    ahead.take_digits();
    kind = DateOf::logcat;
  } else if (ahead.take_shape("dddddddddd.dddddd")) {  // 1764762781.123456
    kind = DateOf::journal;
  }
  if (!kind || !ahead.take(' ')) return std::nullopt;
  set_time(line, LogClock::wall, between(cursor, ahead));
  ahead.skip_spaces();
  cursor = ahead;
  return kind;
}

// "host kernel: ", "host program[123]: ". The host may be left out (journalctl --no-hostname).
void take_host_and_program(PrefixCursor& cursor) {
  const auto is_name = [](char c) {
    return c > ' ' && c != ':' && c != '[' && c != '(' && c != '\x7F';
  };
  PrefixCursor ahead = cursor;
  for (int words = 0; words < 2; ++words) {
    if (ahead.take_while(is_name).empty()) return;
    if (ahead.take('[')) {
      if (ahead.take_digits().empty() || !ahead.take(']')) return;
    }
    if (ahead.take(':')) {
      // Of two words, the second is the program. One word and a colon is a driver's own.
      if (words == 0 && between(cursor, ahead) != "kernel:") return;
      if (!ahead.take(' ') && !ahead.done()) return;
      cursor = ahead;
      return;
    }
    if (!ahead.take(' ')) return;
  }
}

// "  123   456 W tag: ", "E/tag(  123): ", "12848-12876 E/tag: ", and "W tag: ": what stands in
// front of the tag. A tag in brackets of its own kind, "E/tag(  123): ", loses the number.
void take_logcat(PrefixCursor& cursor) {
  PrefixCursor ahead = cursor;
  if (!ahead.take_digits().empty()) {
    if (!ahead.take('-')) ahead.skip_spaces();
    if (ahead.take_digits().empty()) return;
    ahead.skip_spaces();
  }
  if (!is_capital(ahead.next())) return;
  ahead.take(ahead.next());
  if (!ahead.take(' ') && !ahead.take('/')) return;
  cursor = ahead;
}

// "E/tag(  123): " of logcat's brief format, which has no time.
void take_logcat_brief(PrefixCursor& cursor) {
  PrefixCursor ahead = cursor;
  if (!ahead.take_shape("a/") || !is_capital(cursor.next())) return;
  PrefixCursor tag = ahead;
  tag.take_while([](char c) { return c != '(' && c != ')'; });
  if (!tag.take('(')) return;
  tag.skip_spaces();
  if (tag.take_digits().empty() || !tag.take(')') || !tag.take(':')) return;
  cursor = ahead;
}

}  // namespace

LogLine parse_log_line(std::string_view text) {
  LogLine line;
  PrefixCursor cursor(text);
  if (take_kmsg(cursor, line)) {
    line.message = cursor.rest();
    return line;
  }
  take_priority(cursor);
  const bool bracketed = take_brackets(cursor, line);
  if (bracketed) {
    while (take_brackets(cursor, line)) {
    }
    // "[   12.345678] host kernel: "; a driver's "word word: " is no host and program.
    PrefixCursor ahead = cursor;
    if (!ahead.take_while([](char c) { return c > ' ' && c != ':' && c != '['; }).empty() &&
        ahead.take(' ') && ahead.rest().starts_with("kernel: ")) {
      take_host_and_program(cursor);
    }
  } else if (const auto date = take_date(cursor, line)) {
    if (*date == DateOf::logcat) {
      take_logcat(cursor);
    } else if (*date == DateOf::journal) {
      take_host_and_program(cursor);
      take_priority(cursor);
      while (take_brackets(cursor, line)) {
      }
    }
  } else {
    take_logcat_brief(cursor);
  }
  line.message = cursor.rest();
  return line;
}

std::string time_text(const LogLine& line) {
  switch (line.clock) {
    case LogClock::none:
      return {};
    case LogClock::wall:
      return to_printable(line.time);
    case LogClock::boot:
      break;
  }
  if (!line.is_microseconds) return to_printable(line.time) + " s after the start";
  std::uint64_t microseconds = 0;
  std::from_chars(line.time.data(), line.time.data() + line.time.size(), microseconds);
  return fmt::format("{}.{:06} s after the start", microseconds / 1'000'000,
                     microseconds % 1'000'000);
}

}  // namespace assay::probes
