// The terminal as a canvas (ncurses). Whatever ends the process - its own destructor, a deadly
// signal, a crash - the terminal is left as it was found.
#pragma once

#include <cstdio>
#include <memory>
#include <optional>

#include "base/result.h"
#include "tui/canvas.h"

namespace assay::tui {

enum class Key {
  other,
  enter,
  quit,     // q, a
  stop,     // Ctrl-C: the terminal is in raw mode, no signal comes from the keyboard
  suspend,  // Ctrl-Z
  redraw,   // Ctrl-L
};

class Terminal : public Canvas {
 public:
  // At most one at a time. The locale is the caller's: setlocale(LC_ALL, "") comes first.
  static Result<std::unique_ptr<Terminal>> open(std::FILE* in, std::FILE* out);
  ~Terminal() override;

  // Blank, for the next frame.
  void clear();
  // Writes what differs from the frame before.
  void show();
  // Writes everything anew: someone else wrote to the terminal.
  void repaint();

  // Takes over a new size of the terminal. True when it changed.
  bool adjust_size();
  // The next key that was pressed, if any; never waits.
  std::optional<Key> read_key();
  // Gives the terminal back and stops the process until it is continued.
  void suspend();

 private:
  struct State;
  explicit Terminal(std::unique_ptr<State> state, bool utf8);
  void set(int row, int col, const Glyph& glyph, Role role) override;

  std::unique_ptr<State> state_;
};

// Stdin and stdout are terminals of a kind that is known and can move its cursor.
bool can_show_dashboard();

// Whether the locale's characters are UTF-8.
bool locale_is_utf8();

}  // namespace assay::tui
