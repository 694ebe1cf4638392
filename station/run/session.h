// What a run stands on: the board's profile and the world that it is tested in, this machine or a
// virtual board.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/machine.h"
#include "base/result.h"
#include "base/worker_pool.h"
#include "probes/framework/context.h"
#include "runtime/device/npu_device.h"
#include "station/config/library.h"
#include "station/virtual/virtual_board.h"

namespace assay::station {

struct SessionOptions {
  std::string board;  // empty: the only virtual board, or generic-linux
  bool is_virtual = false;
  std::vector<std::string> faults;
  std::string port;                  // of the UART; empty: found by the profile
  probes::Prompt* prompt = nullptr;  // outlives the session; null: nobody to ask
  std::string serial;                // that a virtual board shall have; empty: its specification's
};

class Session {
 public:
  static Result<std::unique_ptr<Session>> open(const Library& library,
                                               const SessionOptions& options);

  const probes::BoardProfile& board() const { return board_; }
  const probes::Bench& bench() const { return *bench_; }
  bool is_virtual() const { return virtual_board_ != nullptr; }
  const std::vector<std::string>& faults() const { return faults_; }

  // The serial as the board itself knows it; empty when it does not.
  std::string own_serial() const;
  // Errors: usage, with the pattern that the profile wants.
  Result<> check_serial(const std::string& serial) const;

 private:
  Session() = default;

  probes::BoardProfile board_;
  std::vector<std::string> faults_;
  Machine machine_;
  std::unique_ptr<VirtualBoard> virtual_board_;
  std::unique_ptr<runtime::NpuDevice> host_npu_;
  std::unique_ptr<probes::Ram> real_ram_;
  WorkerPool workers_;
  std::unique_ptr<probes::Bench> bench_;
};

}  // namespace assay::station
