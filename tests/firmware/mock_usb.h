// A USB bus of umockdev's with a DfuBoard on it: libusb in this process and in others that it
// starts see /sys, /dev and usbfs as if the board were plugged in. The program must have been
// started with umockdev-wrapper.
#pragma once

#include <umockdev.h>

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "tests/firmware/dfu_board.h"

namespace assay::test {

class MockUsb {
 public:
  // Plugged in at port 1-2.
  explicit MockUsb(DfuBoard& board, const device::DfuIdentity& identity);
  ~MockUsb();
  MockUsb(const MockUsb&) = delete;
  MockUsb& operator=(const MockUsb&) = delete;

  // Pulled out in the `request`th request to the DFU interface from now, 0 being the next one. The
  // board has no power any more.
  void unplug_in(int request);
  void plug_in();
  // Another program or driver has claimed the interface.
  void hold_interface(const std::string& driver);
  int requests();
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
  bool handle(UMockdevIoctlClient* client);
  void submit(UMockdevIoctlClient* client);
  void reap(UMockdevIoctlClient* client);
  void reset(UMockdevIoctlClient* client);
  void look_after_board();
  void hub(std::stop_token stop);
  void add();
  void remove();

  DfuBoard& board_;
  device::DfuIdentity identity_;
  Object<UMockdevTestbed> bed_;
  Object<UMockdevIoctlBase> ioctls_;

  std::mutex mutex_;  // of all below, and of the board
  std::condition_variable_any changed_;
  bool powered_ = true;
  bool reattach_ = false;  // asked of the hub
  int unplug_at_ = -1;
  int requests_ = 0;
  int enumerations_ = 0;
  std::string holder_;
  std::map<UMockdevIoctlClient*, Object<UMockdevIoctlData>> done_;  // an URB, to be reaped

  std::string node_;
  std::jthread hub_;
};

}  // namespace assay::test
