#include "station/config/board_guess.h"

#include <algorithm>

namespace assay::station {

std::string boards_with_usb_id(const Library& library, const std::string& usb_id) {
  std::string boards;
  for (const std::string& file : library.board_files()) {
    const auto board = library.board(file);
    if (!board) continue;
    std::vector<std::string> ids = board->dfu_ids;
    if (board->uart) {
      ids.insert(ids.end(), board->uart->usb_ids.begin(), board->uart->usb_ids.end());
    }
    if (std::find(ids.begin(), ids.end(), usb_id) == ids.end()) continue;
    boards += (boards.empty() ? "" : ", ") + board->id;
  }
  return boards;
}

}  // namespace assay::station
