// The reference board's USB socket as a process: plugged into this machine's kernel by USB/IP, or
// on a device controller of it by gadgetfs.
// Killed, it is a board that was pulled out; its chip is a file.
#include <getopt.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "firmware/device/gadget/board.h"
#include "firmware/device/gadgetfs/gadgetfs.h"
#include "firmware/device/host/flash_file.h"
#include "firmware/device/usbip/serve.h"
#include "firmware/device/usbip/vhci.h"

namespace {

namespace device = assay::firmware::device;
using device::gadget::Board;
using device::gadget::End;

constexpr std::uint16_t most_block_bytes = 2048;
constexpr const char* usage =
    "usage: assay-dfu-gadget --flash FILE [--board B] [--serial S] [--tolerant] [--will-detach]\n"
    "                        [--vhci FOLDER] [--port N] | --gadgetfs FOLDER | --socket FD\n"
    "\n"
    "A board that is updated over USB DFU, plugged into this machine's kernel by USB/IP, or on one "
    "of\n"
    "its device controllers (dummy_hcd has one that is its own host).\n"
    "\n"
    "  --flash FILE    the flash chip; made when it is not there\n"
    "  --board B       the board whose images are taken (reference)\n"
    "  --serial S      the serial number (R0001)\n"
    "  --tolerant      talks on behind an update (bitManifestationTolerant)\n"
    "  --will-detach   leaves the bus by itself when it is asked into DFU mode (bitWillDetach)\n"
    "  --vhci FOLDER   vhci_hcd (/sys/devices/platform/vhci_hcd.0)\n"
    "  --port N        its port (0)\n"
    "  --gadgetfs FOLDER  the controller whose gadgetfs is mounted there\n"
    "  --socket FD     serves who is connected there instead\n"
    "\n"
    "Says \"plugged in\" each time that it is. Ends when it is unplugged.\n";

struct Options {
  std::string flash;
  std::string board = "reference";
  std::string serial = "R0001";
  std::string vhci = "/sys/devices/platform/vhci_hcd.0";
  std::string gadgetfs;
  int port = 0;
  int socket = -1;
  std::uint8_t attributes = device::dfu_can_download | device::dfu_can_upload;
};

bool parse(int argc, char** argv, Options* options) {
  const option known[] = {
      {"flash", required_argument, nullptr, 'f'},  {"board", required_argument, nullptr, 'b'},
      {"serial", required_argument, nullptr, 's'}, {"vhci", required_argument, nullptr, 'v'},
      {"port", required_argument, nullptr, 'p'},   {"gadgetfs", required_argument, nullptr, 'g'},
      {"socket", required_argument, nullptr, 'k'}, {"tolerant", no_argument, nullptr, 't'},
      {"will-detach", no_argument, nullptr, 'w'},  {}};
  for (int letter = 0; (letter = ::getopt_long(argc, argv, "", known, nullptr)) >= 0;) {
    if (letter == 'f') {
      options->flash = optarg;
    } else if (letter == 'b') {
      options->board = optarg;
    } else if (letter == 's') {
      options->serial = optarg;
    } else if (letter == 'v') {
      options->vhci = optarg;
    } else if (letter == 'p') {
      options->port = std::atoi(optarg);
    } else if (letter == 'g') {
      options->gadgetfs = optarg;
    } else if (letter == 'k') {
      options->socket = std::atoi(optarg);
    } else if (letter == 't') {
      options->attributes |= device::dfu_manifestation_tolerant;
    } else if (letter == 'w') {
      options->attributes |= device::dfu_will_detach;
    } else {
      return false;
    }
  }
  return optind == argc && !options->flash.empty();
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  if (!parse(argc, argv, &options)) {
    std::fputs(usage, stderr);
    return 2;
  }
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  std::string error;
  device::host::FlashFile flash;
  if (!flash.open(options.flash, &error)) {
    std::fprintf(stderr, "assay-dfu-gadget: %s\n", error.c_str());
    return 3;
  }
  const device::DfuIdentity identity{.vendor = 0x1209,
                                     .runtime_product = 0xA550,
                                     .dfu_product = 0xA551,
                                     .release = 0x0100,
                                     .manufacturer = "Assay",
                                     .product = "Reference NPU",
                                     .serial = options.serial.c_str(),
                                     .attributes = options.attributes,
                                     .detach_timeout_ms = 5000,
                                     .transfer_bytes = options.gadgetfs.empty()
                                                           ? most_block_bytes
                                                           : device::gadgetfs::most_transfer_bytes};
  Board board(identity, {.block_ms = 5, .manifest_ms = 100}, flash.chip(),
              device::host::FlashFile::layout, options.board.c_str());
  for (;;) {
    const bool by_gadgetfs = !options.gadgetfs.empty();
    const int line = options.socket >= 0 ? options.socket
                     : by_gadgetfs ? device::gadgetfs::plug_in(options.gadgetfs, board, &error)
                                   : device::usbip::plug_in(options.vhci, options.port, &error);
    if (line < 0) {
      std::fprintf(stderr, "assay-dfu-gadget: %s\n", error.c_str());
      return 3;
    }
    std::puts("plugged in");
    std::fflush(stdout);
    const End end =
        by_gadgetfs ? device::gadgetfs::serve(board, line) : device::usbip::serve(board, line);
    if (end == End::nonsense) {
      std::fprintf(stderr, "assay-dfu-gadget: what came is no %s\n",
                   by_gadgetfs ? "event of gadgetfs" : "USB/IP");
      return 1;
    }
    if (end == End::unplugged) return 0;
    // A socket is no bus that could be left.
    if (options.socket < 0) ::close(line);
  }
}
