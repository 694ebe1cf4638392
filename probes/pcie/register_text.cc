#include "probes/pcie/register_text.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <span>

namespace assay::probes {
namespace {

struct Flag {
  const char* name;
  unsigned bit;
};

// Generation 1: what every link can do.
constexpr double lowest_speed_gts = 2.5;
constexpr Flag devcap_flags[] = {{"ExtTag", 5}, {"RBE", 15}};
constexpr Flag devcap_button_flags[] = {{"AttnBtn", 12}, {"AttnInd", 13}, {"PwrInd", 14}};
constexpr Flag devctl_flags[] = {{"CorrErr", 0},   {"NonFatalErr", 1}, {"FatalErr", 2},
                                 {"UnsupReq", 3},  {"RlxdOrd", 4},     {"ExtTag", 8},
                                 {"PhantFunc", 9}, {"AuxPwr", 10},     {"NoSnoop", 11}};
constexpr Flag devsta_flags[] = {{"CorrErr", 0},  {"NonFatalErr", 1}, {"FatalErr", 2},
                                 {"UnsupReq", 3}, {"AuxPwr", 4},      {"TransPend", 5}};
constexpr Flag lnkcap_flags[] = {
    {"ClockPM", 18}, {"Surprise", 19}, {"LLActRep", 20}, {"BwNot", 21}, {"ASPMOptComp", 22}};
constexpr Flag lnkctl_flags[] = {{"Disabled", 4},  {"CommClk", 6}, {"ExtSynch", 7}, {"ClockPM", 8},
                                 {"AutWidDis", 9}, {"BWInt", 10},  {"AutBWInt", 11}};
constexpr Flag lnksta_flags[] = {{"TrErr", 10},    {"Train", 11},  {"SlotClk", 12},
                                 {"DLActive", 13}, {"BWMgmt", 14}, {"ABWMgmt", 15}};
constexpr Flag sltcap_flags[] = {{"AttnBtn", 0}, {"PwrCtrl", 1}, {"MRL", 2},     {"AttnInd", 3},
                                 {"PwrInd", 4},  {"HotPlug", 6}, {"Surprise", 5}};
constexpr Flag lnkcap2_flags[] = {
    {"Crosslink", 8}, {"Retimer", 23}, {"2Retimers", 24}, {"DRS", 31}};
constexpr Flag lnksta2_flags[] = {{"EqualizationComplete", 1},
                                  {"EqualizationPhase1", 2},
                                  {"EqualizationPhase2", 3},
                                  {"EqualizationPhase3", 4},
                                  {"LinkEqualizationRequest", 5},
                                  {"Retimer", 6},
                                  {"2Retimers", 7}};
constexpr Flag uncorrectable_flags[] = {{"DLP", 4},       {"SDES", 5},      {"TLP", 12},
                                        {"FCP", 13},      {"CmpltTO", 14},  {"CmpltAbrt", 15},
                                        {"UnxCmplt", 16}, {"RxOF", 17},     {"MalfTLP", 18},
                                        {"ECRC", 19},     {"UnsupReq", 20}, {"ACSViol", 21}};
constexpr Flag correctable_flags[] = {{"RxErr", 0},    {"BadTLP", 6},   {"BadDLLP", 7},
                                      {"Rollover", 8}, {"Timeout", 12}, {"AdvNonFatalErr", 13}};
constexpr Flag aercap_flags[] = {{"ECRCGenCap", 5},  {"ECRCGenEn", 6},     {"ECRCChkCap", 7},
                                 {"ECRCChkEn", 8},   {"MultHdrRecCap", 9}, {"MultHdrRecEn", 10},
                                 {"TLPPfxPres", 11}, {"HdrLogCap", 12}};
constexpr Flag rootcmd_flags[] = {{"CERptEn", 0}, {"NFERptEn", 1}, {"FERptEn", 2}};
constexpr Flag rootsta_flags[] = {{"CERcvd", 0},     {"MultCERcvd", 1}, {"UERcvd", 2},
                                  {"MultUERcvd", 3}, {"FirstFatal", 4}, {"NonFatalMsg", 5},
                                  {"FatalMsg", 6}};
constexpr Flag lnkctl3_flags[] = {{"LnkEquIntrruptEn", 1}, {"PerformEqu", 0}};
constexpr Flag physical_16gts_flags[] = {{"EquComplete", 0},
                                         {"EquPhase1", 1},
                                         {"EquPhase2", 2},
                                         {"EquPhase3", 3},
                                         {"LinkEquRequest", 4}};
constexpr Flag pmc_flags[] = {{"PMEClk", 3}, {"DSI", 5}, {"D1", 9}, {"D2", 10}};

std::string flags(std::uint32_t value, std::span<const Flag> names) {
  std::string text;
  for (const Flag& flag : names) {
    if (!text.empty()) text += ' ';
    text += flag.name;
    text += (value & 1u << flag.bit) != 0 ? '+' : '-';
  }
  return text;
}

constexpr std::array<const char*, 8> l0s_latency = {"<64ns", "<128ns", "<256ns", "<512ns",
                                                    "<1us",  "<2us",   "<4us",   nullptr};
constexpr std::array<const char*, 8> l1_latency = {"<1us",  "<2us",  "<4us",  "<8us",
                                                   "<16us", "<32us", "<64us", nullptr};
// What a function bears has no limit; what a link takes to leave the state is more than the rest.
std::string acceptable(const std::array<const char*, 8>& names, unsigned code) {
  return names[code] != nullptr ? names[code] : "unlimited";
}
std::string l0s_exit(unsigned code) {
  return l0s_latency[code] != nullptr ? l0s_latency[code] : ">4us";
}
std::string l1_exit(unsigned code) {
  return l1_latency[code] != nullptr ? l1_latency[code] : ">64us";
}

const char* to_text(Aspm aspm) {
  switch (aspm) {
    case Aspm::none:
      return "";
    case Aspm::l0s:
      return "L0s";
    case Aspm::l1:
      return "L1";
    case Aspm::l0s_l1:
      return "L0s L1";
  }
  return "";
}

class Writer {
 public:
  void add(const char* name, std::uint32_t value, std::string text) {
    lines_.push_back({name, value, std::move(text)});
  }
  std::vector<RegisterText> take() { return std::move(lines_); }

 private:
  std::vector<RegisterText> lines_;
};

void write_power(Writer& out, const PowerManagement& power) {
  static constexpr std::array<int, 8> aux_milliamperes = {0, 55, 100, 160, 220, 270, 320, 375};
  const unsigned pmc = power.pmc;
  const auto pme = [&](unsigned bit) { return (pmc & 1u << bit) != 0 ? '+' : '-'; };
  out.add("PMC", pmc,
          fmt::format("version {}, {}, AuxCurrent={}mA, PME(D0{},D1{},D2{},D3hot{},D3cold{})",
                      power.version(), flags(pmc, pmc_flags), aux_milliamperes[pmc >> 6 & 0x7],
                      pme(11), pme(12), pme(13), pme(14), pme(15)));
  const unsigned sr = power.pmcsr;
  constexpr Flag reset[] = {{"NoSoftRst", 3}};
  constexpr Flag enable[] = {{"PME-Enable", 8}};
  constexpr Flag status[] = {{"PME", 15}};
  out.add("PMCSR", sr,
          fmt::format("D{} {} {} DSel={} DScale={} {}", power.d_state(), flags(sr, reset),
                      flags(sr, enable), sr >> 9 & 0xF, sr >> 13 & 0x3, flags(sr, status)));
}

void write_device(Writer& out, const PciExpress& e) {
  const DeviceRegisters& d = *e.device;
  const bool is_endpoint = e.type == PortType::endpoint || e.type == PortType::legacy_endpoint;
  const bool below_a_slot = e.type == PortType::endpoint || e.type == PortType::upstream_port ||
                            e.type == PortType::pcie_to_pci_bridge;
  std::string cap = fmt::format("MaxPayload {} bytes, PhantFunc {}", d.max_payload_supported(),
                                (1u << (d.devcap >> 3 & 0x3)) - 1);
  if (is_endpoint) {
    cap += fmt::format(", Latency L0s {}, L1 {}", acceptable(l0s_latency, d.devcap >> 6 & 0x7),
                       acceptable(l1_latency, d.devcap >> 9 & 0x7));
  }
  cap += ", " + flags(d.devcap, devcap_flags);
  if (below_a_slot || is_endpoint) cap += " " + flags(d.devcap, devcap_button_flags);
  if (is_endpoint || e.type == PortType::integrated_endpoint) {
    constexpr Flag reset[] = {{"FLReset", 28}};
    cap += " " + flags(d.devcap, reset);
  }
  if (below_a_slot) {
    const auto limit = d.captured_power_limit_w();
    cap += limit ? fmt::format(", SlotPowerLimit {:g}W", *limit) : ", SlotPowerLimit >325W";
  }
  out.add("DevCap", d.devcap, cap);

  std::string control = flags(d.devctl, devctl_flags);
  constexpr Flag reset[] = {{"FLReset", 15}};
  constexpr Flag retry[] = {{"BrConfRtry", 15}};
  if ((is_endpoint || e.type == PortType::integrated_endpoint) && (d.devcap & 1u << 28) != 0) {
    control += " " + flags(d.devctl, reset);
  }
  if (e.type == PortType::pcie_to_pci_bridge) control += " " + flags(d.devctl, retry);
  out.add("DevCtl", d.devctl,
          fmt::format("{}, MaxPayload {} bytes, MaxReadReq {} bytes", control, d.max_payload(),
                      d.max_read_request()));
  out.add("DevSta", d.devsta, flags(d.devsta, devsta_flags));
}

void write_link(Writer& out, const PciExpress& e) {
  const Link& link = *e.link;
  std::string cap = fmt::format(
      "Port #{}, Speed {}, Width x{}, ASPM {}", link.port_number(), speed_text(link.max_speed_gts),
      link.max_width,
      link.aspm_supported == Aspm::none ? "not supported" : to_text(link.aspm_supported));
  const auto supported = static_cast<unsigned>(link.aspm_supported);
  if ((supported & 1u) != 0) cap += ", Exit Latency L0s " + l0s_exit(link.lnkcap >> 12 & 0x7);
  if ((supported & 2u) != 0) {
    cap += (supported & 1u) != 0 ? ", L1 " : ", Exit Latency L1 ";
    cap += l1_exit(link.lnkcap >> 15 & 0x7);
  }
  out.add("LnkCap", link.lnkcap, cap + ", " + flags(link.lnkcap, lnkcap_flags));

  std::string control = link.aspm_enabled == Aspm::none
                            ? std::string("ASPM Disabled")
                            : fmt::format("ASPM {} Enabled", to_text(link.aspm_enabled));
  if (e.type == PortType::root_port || e.type == PortType::endpoint ||
      e.type == PortType::legacy_endpoint) {
    control += fmt::format(", RCB {} bytes", (link.lnkctl & 1u << 3) != 0 ? 128 : 64);
  }
  out.add("LnkCtl", link.lnkctl, control + ", " + flags(link.lnkctl, lnkctl_flags));
  out.add("LnkSta", link.lnksta,
          fmt::format("Speed {}, Width x{}, {}", speed_text(link.speed_gts), link.width,
                      flags(link.lnksta, lnksta_flags)));
}

void write_slot(Writer& out, const Slot& slot) {
  constexpr Flag rest[] = {{"Interlock", 17}, {"NoCompl", 18}};
  out.add(
      "SltCap", slot.sltcap,
      fmt::format("{}, Slot #{}, PowerLimit {}, {}", flags(slot.sltcap, sltcap_flags), slot.number,
                  slot.power_limit_w ? fmt::format("{:g}W", *slot.power_limit_w) : ">325W",
                  flags(slot.sltcap, rest)));
}

void write_link2(Writer& out, const Link2& link) {
  out.add("LnkCap2", link.lnkcap2,
          fmt::format("Supported Link Speeds: {}, {}",
                      link.speeds_gts.empty()         ? "RsvdP"
                      : link.speeds_gts.back() == 2.5 ? "2.5GT/s"
                                                      : "2.5-" + speed_text(link.speeds_gts.back()),
                      flags(link.lnkcap2, lnkcap2_flags)));
  // A function of 2.5 GT/s alone may have 0 there (7.5.3.19).
  const bool hardwired = (link.lnkctl2 & 0xFu) == 0;
  out.add("LnkCtl2", link.lnkctl2,
          fmt::format("Target Link Speed: {}",
                      speed_text(hardwired ? lowest_speed_gts : link.target_speed_gts)));
  static constexpr std::array<const char*, 4> crosslink = {"unsupported", "Upstream Port",
                                                           "Downstream Port", "incomplete"};
  out.add("LnkSta2", link.lnksta2,
          fmt::format("Current De-emphasis Level: {}, {}, CrosslinkRes: {}",
                      (link.lnksta2 & 1u) != 0 ? "-3.5dB" : "-6dB",
                      flags(link.lnksta2, lnksta2_flags), crosslink[link.lnksta2 >> 8 & 0x3]));
}

void write_aer(Writer& out, const AdvancedErrorReporting& aer) {
  out.add("UESta", aer.uncorrectable_status, flags(aer.uncorrectable_status, uncorrectable_flags));
  out.add("UEMsk", aer.uncorrectable_mask, flags(aer.uncorrectable_mask, uncorrectable_flags));
  out.add("UESvrt", aer.uncorrectable_severity,
          flags(aer.uncorrectable_severity, uncorrectable_flags));
  out.add("CESta", aer.correctable_status, flags(aer.correctable_status, correctable_flags));
  out.add("CEMsk", aer.correctable_mask, flags(aer.correctable_mask, correctable_flags));
  out.add("AERCap", aer.control,
          fmt::format("First Error Pointer: {:02x}, {}", aer.first_error(),
                      flags(aer.control, aercap_flags)));
  out.add("HeaderLog", aer.header_log[0],
          fmt::format("{:08x} {:08x} {:08x} {:08x}", aer.header_log[0], aer.header_log[1],
                      aer.header_log[2], aer.header_log[3]));
  if (!aer.root) return;
  out.add("RootCmd", aer.root->command, flags(aer.root->command, rootcmd_flags));
  out.add(
      "RootSta", aer.root->status,
      fmt::format("{}, IntMsg {}", flags(aer.root->status, rootsta_flags), aer.root->status >> 27));
  out.add("ErrorSrc",
          aer.root->correctable_source | static_cast<std::uint32_t>(aer.root->uncorrectable_source)
                                             << 16,
          fmt::format("ERR_COR: {:04x} ERR_FATAL/NONFATAL: {:04x}", aer.root->correctable_source,
                      aer.root->uncorrectable_source));
}

// "3 5 7"; "none". Bits of lanes that the link does not have mean nothing.
std::string lanes_of(std::uint32_t bits, const Link* link) {
  std::string text;
  const unsigned lanes =
      link == nullptr ? 32 : static_cast<unsigned>(std::min(link->max_width, 32));
  for (unsigned lane = 0; lane < lanes; ++lane) {
    if ((bits & 1u << lane) != 0) text += (text.empty() ? "" : " ") + std::to_string(lane);
  }
  return text.empty() ? "none" : text;
}

}  // namespace

std::string speed_text(double speed_gts) {
  return speed_gts == 0 ? "unknown" : fmt::format("{:g}GT/s", speed_gts);
}

std::vector<RegisterText> register_texts(const PciFunction& function) {
  Writer out;
  if (function.power) write_power(out, *function.power);
  if (function.express) {
    const PciExpress& e = *function.express;
    if (e.device) write_device(out, e);
    if (e.link) write_link(out, e);
    if (e.slot) write_slot(out, *e.slot);
    if (e.link2) write_link2(out, *e.link2);
  }
  const ExtendedCapabilities& extended = function.extended;
  if (extended.aer) write_aer(out, *extended.aer);
  if (const auto& s = extended.secondary) {
    out.add("LnkCtl3", s->lnkctl3, flags(s->lnkctl3, lnkctl3_flags));
    out.add("LaneErrStat", s->lane_errors,
            "LaneErr at lane: " + lanes_of(s->lane_errors, function.link()));
  }
  if (const auto& p = extended.physical_16gts) {
    out.add("16GTSta", p->status, flags(p->status, physical_16gts_flags));
    out.add("16GTLocalParity", p->local_parity_mismatch,
            "mismatch at lane: " + lanes_of(p->local_parity_mismatch, function.link()));
  }
  if (const auto& m = extended.margining) {
    out.add("MarginPortCap", m->capabilities,
            m->needs_driver() ? "through driver software" : "through these registers");
    out.add("MarginPortSta", m->status,
            fmt::format("Ready{} SoftwareReady{}", m->ready() ? '+' : '-',
                        m->software_ready() ? '+' : '-'));
  }
  return out.take();
}

}  // namespace assay::probes
