// The UART: Arm's PrimeCell PL011 (DDI 0183), polled. 8 data bits, no parity, one stop bit, FIFOs
// on.
#pragma once

#include <cstddef>
#include <cstdint>

namespace assay::firmware::device::qemu_virt {

class Pl011 {
 public:
  explicit Pl011(std::uintptr_t base) : base_(base) {}

  // Drops what is in the FIFOs. Its interrupt is high while there is something to read.
  void start(std::uint32_t baud);
  // False when there is nothing.
  bool receive(std::uint8_t* byte);
  // Blocks until all has its place in the FIFO.
  void send(const std::uint8_t* bytes, std::size_t size);
  // Until the last bit has left.
  void drain();

 private:
  std::uintptr_t base_;
};

}  // namespace assay::firmware::device::qemu_virt
