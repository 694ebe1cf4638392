#include "station/run/session.h"

#include <optional>

#include "runtime/device/host_device.h"
#include "station/config/serial_pattern.h"
#include "station/virtual/virtual_spec.h"

namespace assay::station {
namespace {

constexpr const char* machine_itself = "generic-linux";
constexpr std::size_t max_shown_bytes = 128;

// The only virtual board there is, for who names none.
Result<VirtualSpec> only_virtual_spec(const Library& library) {
  const auto files = library.virtual_board_files();
  if (files.size() != 1) {
    return fail(ErrorKind::usage, "several virtual boards", "--virtual", "name one with --board");
  }
  const auto file = LocatedJson::read(files.front());
  if (!file) return std::unexpected(file.error());
  return parse_virtual_spec(*file);
}

// The virtual board that stands for a profile. The profile may be a file of the user's own: what
// it says of itself counts, not how it is called.
Result<VirtualSpec> virtual_spec_of(const Library& library, const probes::BoardProfile& board) {
  std::string known;
  for (const std::string& path : library.virtual_board_files()) {
    const auto file = LocatedJson::read(path);
    if (!file) return std::unexpected(file.error());
    auto spec = parse_virtual_spec(*file);
    if (!spec) return std::unexpected(spec.error());
    if (spec->board == board.id) return spec;
    known += (known.empty() ? "" : ", ") + spec->board;
  }
  return fail(ErrorKind::usage, "no virtual board for \"" + board.id + "\"", "--virtual",
              "there are: " + known);
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
  std::optional<VirtualSpec> spec;
  if (options.is_virtual && options.board.empty()) {
    auto only = only_virtual_spec(library);
    if (!only) return std::unexpected(only.error());
    spec = std::move(*only);
    board_name = spec->board;
  }
  auto board = library.board(board_name);
  if (!board) return std::unexpected(board.error());
  session->board_ = std::move(*board);
  if (options.is_virtual && !spec) {
    auto found = virtual_spec_of(library, session->board_);
    if (!found) return std::unexpected(found.error());
    spec = std::move(*found);
  }

  if (spec) {
    if (!options.serial.empty()) {
      if (auto checked = session->check_serial(options.serial); !checked) {
        return std::unexpected(checked.error());
      }
      spec->serial = options.serial;
    }
    auto started = VirtualBoard::start(*spec, session->board_, *faults);
    if (!started) return std::unexpected(started.error());
    session->virtual_board_ = std::move(*started);
    // Its heat moves faster than that of the board that it stands for.
    if (session->board_.thermal && spec->golden) session->board_.thermal->golden = spec->golden;
    VirtualBoard& board_side = *session->virtual_board_;
    session->bench_ = std::make_unique<probes::Bench>(
        probes::Bench{board_side.machine(),
                      session->board_,
                      board_side.npu(),
                      board_side.ram(),
                      session->workers_,
                      options.port.empty() ? board_side.uart_port() : options.port,
                      {board_side.vendor_folder()}});
  } else {
    session->host_npu_ = std::make_unique<runtime::HostDevice>();
    session->real_ram_ = std::make_unique<probes::RealRam>();
    session->bench_ = std::make_unique<probes::Bench>(
        probes::Bench{session->machine_, session->board_, *session->host_npu_, *session->real_ram_,
                      session->workers_, options.port, library.firmware_folders()});
  }
  session->bench_->prompt = options.prompt;
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
  if (matches_serial_pattern(board_.serial_pattern, serial)) return {};
  return fail(
      ErrorKind::usage,
      "\"" + serial.substr(0, max_shown_bytes) + "\" is not a serial number of " + board_.name,
      "--serial", "expected " + board_.serial_pattern);
}

}  // namespace assay::station
