#include "tui/terminal.h"

#include <curses.h>
#include <langinfo.h>
#include <sys/ioctl.h>
#include <term.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdlib>
#include <cwchar>
#include <string>
#include <utility>
#include <vector>

#include "tui/crash_restore.h"

// Macros of term.h that are words of ours.
#undef lines
#undef columns

namespace assay::tui {
namespace {

// Larger is no terminal but a mistake, and would cost its cells.
constexpr int most_rows = 500;
constexpr int most_cols = 1000;

std::pair<int, int> size_of(int fd) {
  winsize size{};
  // A serial console knows no size and says 0x0.
  if (ioctl(fd, TIOCGWINSZ, &size) != 0 || size.ws_row == 0 || size.ws_col == 0) return {24, 80};
  return {std::min<int>(size.ws_row, most_rows), std::min<int>(size.ws_col, most_cols)};
}

// A terminfo string without its padding, which only terminals of long ago needed.
std::string capability(const char* name) {
  const char* text = tigetstr(name);
  if (text == nullptr || text == reinterpret_cast<const char*>(-1)) return {};
  std::string bytes = text;
  for (auto begin = bytes.find("$<"); begin != bytes.npos; begin = bytes.find("$<")) {
    const auto end = bytes.find('>', begin);
    if (end == bytes.npos) break;
    bytes.erase(begin, end - begin + 1);
  }
  return bytes;
}

struct Look {
  short pair;  // 0: no colour
  short colour;
  attr_t attributes;
};
// By Role. Without colours the attributes still tell the roles that matter from the others.
constexpr std::array<Look, role_count> looks = {{{0, 0, A_NORMAL},
                                                 {0, 0, A_BOLD},
                                                 {0, 0, A_DIM},
                                                 {1, COLOR_CYAN, A_NORMAL},
                                                 {2, COLOR_GREEN, A_BOLD},
                                                 {3, COLOR_RED, A_BOLD},
                                                 {4, COLOR_YELLOW, A_BOLD},
                                                 {5, COLOR_BLUE, A_BOLD}}};

bool set_up_colours() {
  const char* refused = std::getenv("NO_COLOR");
  if (refused != nullptr && *refused != '\0') return false;
  if (!has_colors() || start_color() == ERR) return false;
  const short background = use_default_colors() == OK ? -1 : COLOR_BLACK;
  for (const Look& look : looks) {
    if (look.pair != 0) init_pair(look.pair, look.colour, background);
  }
  return true;
}

// newterm() puts handlers of its own there, which outlive the screen and end the process from
// within a signal. Deadly signals are crash_restore's, the size is asked for.
class KeptSignals {
 public:
  KeptSignals() {
    for (std::size_t i = 0; i < signals.size(); ++i) sigaction(signals[i], nullptr, &kept_[i]);
  }
  ~KeptSignals() {
    for (std::size_t i = 0; i < signals.size(); ++i) sigaction(signals[i], &kept_[i], nullptr);
  }
  KeptSignals(const KeptSignals&) = delete;
  KeptSignals& operator=(const KeptSignals&) = delete;

 private:
  static constexpr std::array<int, 4> signals = {SIGINT, SIGTERM, SIGTSTP, SIGWINCH};
  std::array<struct sigaction, 4> kept_{};
};

}  // namespace

struct Terminal::State {
  SCREEN* screen = nullptr;
  int fd = -1;
  termios modes{};
  bool colours = false;
};

Terminal::Terminal(std::unique_ptr<State> state, bool utf8)
    : Canvas(LINES, COLS, utf8), state_(std::move(state)) {}

Result<std::unique_ptr<Terminal>> Terminal::open(std::FILE* in, std::FILE* out) {
  auto state = std::make_unique<State>();
  state->fd = fileno(out);
  if (tcgetattr(state->fd, &state->modes) != 0) {
    return fail(ErrorKind::unavailable, "the output is not a terminal");
  }
  {
    const KeptSignals kept;
    state->screen = newterm(nullptr, out, in);
  }
  if (state->screen == nullptr) {
    const char* type = std::getenv("TERM");
    return fail(ErrorKind::unavailable, "the terminal's type is not known",
                type != nullptr ? type : "TERM", "set TERM, or use --headless");
  }
  state->colours = set_up_colours();
  raw();
  noecho();
  nonl();  // Enter comes as CR, and line feeds are not turned into two bytes
  nodelay(stdscr, TRUE);
  keypad(stdscr, TRUE);
  set_escdelay(25);
  curs_set(0);
  leaveok(stdscr, TRUE);
  arm_crash_restore(
      state->fd, state->modes,
      capability("sgr0") + capability("rmkx") + capability("cnorm") + capability("rmcup"));
  const auto [rows, cols] = size_of(state->fd);
  if (rows != LINES || cols != COLS) resize_term(rows, cols);
  return std::unique_ptr<Terminal>(new Terminal(std::move(state), locale_is_utf8()));
}

Terminal::~Terminal() {
  endwin();
  disarm_crash_restore();
  delscreen(state_->screen);
  // The modes from before newterm(), whatever ncurses made of them.
  tcsetattr(state_->fd, TCSADRAIN, &state_->modes);
}

void Terminal::clear() {
  erase();
}

void Terminal::show() {
  refresh();
}

void Terminal::repaint() {
  clearok(curscr, TRUE);
  refresh();
}

void Terminal::set(int row, int col, const Glyph& glyph, Role role) {
  std::array<wchar_t, CCHARW_MAX + 1> text{};
  std::size_t length = 0;
  for (const char32_t c : glyph.text) {
    if (length < CCHARW_MAX) text[length++] = static_cast<wchar_t>(c);
  }
  // Where the C library counts other cells than we do, ncurses would shift the rest of the row.
  std::string substitute;
  if (utf8() && wcwidth(text[0]) != glyph.width) {
    substitute.assign(static_cast<std::size_t>(glyph.width), '?');
  }
  const Look& look = looks[static_cast<std::size_t>(role)];
  const short pair = state_->colours ? look.pair : short{0};
  if (!substitute.empty()) {
    attr_set(look.attributes, pair, nullptr);
    mvaddnstr(row, col, substitute.c_str(), glyph.width);
    attr_set(A_NORMAL, 0, nullptr);
    return;
  }
  cchar_t cell;
  if (setcchar(&cell, text.data(), look.attributes, pair, nullptr) == ERR) return;
  // In the last cell it answers ERR because the cursor cannot go on; the cell is written.
  mvadd_wch(row, col, &cell);
}

bool Terminal::adjust_size() {
  const auto [new_rows, new_cols] = size_of(state_->fd);
  if (new_rows == rows() && new_cols == cols()) return false;
  resize_term(new_rows, new_cols);
  set_size(LINES, COLS);
  clearok(curscr, TRUE);
  return true;
}

std::optional<Key> Terminal::read_key() {
  const int key = getch();
  switch (key) {
    case ERR:
      return std::nullopt;
    case '\r':
    case '\n':
    case KEY_ENTER:
      return Key::enter;
    case 'q':
    case 'Q':
    case 'a':
    case 'A':
      return Key::quit;
    case 'C' - '@':
      return Key::stop;
    case 'L' - '@':
      return Key::redraw;
    case 'Z' - '@':
      return Key::suspend;
    default:
      return Key::other;
  }
}

void Terminal::suspend() {
  endwin();
  raise(SIGSTOP);
  adjust_size();
  repaint();
}

bool locale_is_utf8() {
  return std::string_view(nl_langinfo(CODESET)) == "UTF-8";
}

bool can_show_dashboard() {
  if (isatty(STDIN_FILENO) == 0 || isatty(STDOUT_FILENO) == 0) return false;
  const char* type = std::getenv("TERM");
  if (type == nullptr || *type == '\0' || std::string_view(type) == "dumb") return false;
  int error = 0;
  if (setupterm(type, STDOUT_FILENO, &error) != OK) return false;
  const bool can_move = !capability("cup").empty();
  del_curterm(cur_term);
  return can_move;
}

}  // namespace assay::tui
