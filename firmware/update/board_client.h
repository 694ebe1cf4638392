// What a board's firmware says about itself and its slots, over AT commands.
//
// Errors of all calls: those of AtClient::command(); ErrorKind::unavailable when the board answers
// a question with ERROR (this firmware does not know it), ErrorKind::protocol when it answers
// something else than is asked for, or refuses an order.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "firmware/serial/at_client.h"

namespace assay::firmware {

struct SlotState {
  unsigned number = 0;
  std::string version;  // empty: the slot holds no whole image
  bool running = false;
};

struct BootState {
  std::optional<unsigned> slot;  // none: no image, the ROM alone
  bool on_trial = false;         // not confirmed: the next boot goes back
  bool reverted = false;         // this boot went back
};

// AT+SN?
Result<std::string> query_serial(AtClient& client, const AtOptions& options = {});
// AT+SLOTS?, by number
Result<std::vector<SlotState>> query_slots(AtClient& client, const AtOptions& options = {});
// AT+STATUS?
Result<BootState> query_boot_state(AtClient& client, const AtOptions& options = {});
// AT+TEMP?, in milli-degrees Celsius; none when the firmware does not know the question.
Result<std::optional<std::int32_t>> query_temperature(AtClient& client,
                                                      const AtOptions& options = {});

// A command whose only answer is OK.
Result<> order(AtClient& client, const std::string& command, const AtOptions& options = {});

}  // namespace assay::firmware
