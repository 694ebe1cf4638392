#include "station/run/session.h"

#include <regex>

#include "runtime/device/host_device.h"
#include "station/virtual/virtual_spec.h"

namespace assay::station {
namespace {

constexpr const char* machine_itself = "generic-linux";
constexpr std::size_t max_serial_bytes = 128;

// The virtual board for a profile, or the only one there is when none is named.
Result<VirtualSpec> find_virtual_spec(const Library& library, const std::string& board) {
  std::string name = board;
  if (name.empty()) {
    const auto files = library.virtual_board_files();
    if (files.size() != 1) {
      return fail(ErrorKind::usage, "several virtual boards", "--virtual", "name one with --board");
    }
    name = stem(files.front());
  }
  const auto file = library.virtual_board(name);
  if (!file) return std::unexpected(file.error());
  return parse_virtual_spec(*file);
}

}  // namespace

Result<std::unique_ptr<Session>> Session::open(const Library& library,
                                               const SessionOptions& options) {
  std::unique_ptr<Session> session(new Session());
  session->faults_ = options.faults;
  const auto faults = parse_faults(options.faults);
  if (!faults) return std::unexpected(faults.error());
  if (!options.is_virtual && !faults->empty()) {
    return fail(ErrorKind::usage, "only a virtual board can be broken", "--fault", "add --virtual");
  }
  std::string board_name = options.board.empty() ? machine_itself : options.board;
  VirtualSpec spec;
  if (options.is_virtual) {
    auto found = find_virtual_spec(library, options.board);
    if (!found) return std::unexpected(found.error());
    spec = std::move(*found);
    if (options.board.empty()) board_name = spec.board;
  }
  auto board = library.board(board_name);
  if (!board) return std::unexpected(board.error());
  session->board_ = std::move(*board);

  if (options.is_virtual) {
    auto started = VirtualBoard::start(spec, session->board_, *faults);
    if (!started) return std::unexpected(started.error());
    session->virtual_board_ = std::move(*started);
    VirtualBoard& board_side = *session->virtual_board_;
    session->bench_ = std::make_unique<probes::Bench>(probes::Bench{
        board_side.machine(), session->board_, board_side.npu(), board_side.ram(),
        session->workers_, options.port.empty() ? board_side.uart_port() : options.port});
  } else {
    session->host_npu_ = std::make_unique<runtime::HostDevice>();
    session->real_ram_ = std::make_unique<probes::RealRam>();
    session->bench_ = std::make_unique<probes::Bench>(
        probes::Bench{session->machine_, session->board_, *session->host_npu_, *session->real_ram_,
                      session->workers_, options.port});
  }
  return session;
}

std::string Session::own_serial() const {
  if (virtual_board_) return virtual_board_->serial();
  for (const std::string& file : board_.serial_files) {
    auto line = machine_.read_line(file);
    if (line && check_serial(*line)) return *line;
  }
  return {};
}

Result<> Session::check_serial(const std::string& serial) const {
  // std::regex recurses with the length of its input.
  if (serial.size() <= max_serial_bytes &&
      std::regex_match(serial, std::regex(board_.serial_pattern))) {
    return {};
  }
  return fail(
      ErrorKind::usage,
      "\"" + serial.substr(0, max_serial_bytes) + "\" is not a serial number of " + board_.name,
      "--serial", "expected " + board_.serial_pattern);
}

}  // namespace assay::station
