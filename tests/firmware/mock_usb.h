// A USB bus of umockdev's with a DfuBoard on it: libusb in this process and in others that it
// starts see /sys, /dev and usbfs as if the board were plugged in. The program must have been
// started with umockdev-wrapper.
#pragma once

#include <umockdev.h>

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "tests/firmware/dfu_board.h"

namespace assay::test {

class MockUsb {
 public:
  // Plugged in at port 1-2.
  explicit MockUsb(DfuBoard& board, const device::DfuIdentity& identity);
  ~MockUsb();
  MockUsb(const MockUsb&) = delete;
  MockUsb& operator=(const MockUsb&) = delete;

  // Pulled out in the `request`th request to the DFU interface from now, 0 being the next one.
  void unplug_in(int request);
  // The board is powered on.
  void plug_in();
  // Another program or driver has claimed the interface.
  void hold_interface(const std::string& driver);
  // Calls `work` with the board, while nothing else touches it.
  template <class Work>
  void with_board(const Work& work) {
    const std::scoped_lock lock(mutex_);
    work(board_);
  }
  // How often the board was enumerated.
  int enumerations();

 private:
  struct Unref {
    void operator()(gpointer object) const { g_object_unref(object); }
  };
  template <class T>
  using Object = std::unique_ptr<T, Unref>;

  static gboolean on_ioctl(UMockdevIoctlBase* base, UMockdevIoctlClient* client, gpointer self);
  static void on_vanished(UMockdevIoctlBase* base, UMockdevIoctlClient* client, gpointer self);
  void handle(UMockdevIoctlClient* client);
  void submit(UMockdevIoctlClient* client);
  void reap(UMockdevIoctlClient* client);
  void reset(UMockdevIoctlClient* client);
  void add();
  void remove();

  DfuBoard& board_;
  device::DfuIdentity identity_;
  Object<UMockdevTestbed> bed_;
  Object<UMockdevIoctlBase> ioctls_;

  // Of all below, and of the board: umockdev answers in a thread of its own.
  std::mutex mutex_;
  std::string node_;  // empty: not on the bus
  int unplug_at_ = -1;
  int requests_ = 0;
  int enumerations_ = 0;
  bool held_ = false;
  std::map<UMockdevIoctlClient*, Object<UMockdevIoctlData>> done_;  // an URB, to be reaped
};

}  // namespace assay::test
