#include "firmware/serial/port_list.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace assay::firmware {
namespace {

const std::vector<PortInfo> ports = {{"/dev/ttyACM0", "Gadget", "0525:a4a7", "1"},
                                     {"/dev/ttyS0", "", "", ""},
                                     {"/dev/ttyUSB0", "CH340", "1a86:7523", ""},
                                     {"/dev/ttyUSB1", "CH340", "1a86:7523", ""}};

TEST(PortList, selectsByUsbId) {
  const auto two = select_ports(ports, {"1A86:7523"});
  ASSERT_TRUE(two);
  ASSERT_EQ(two->size(), 2u);
  EXPECT_EQ(two->at(0).path, "/dev/ttyUSB0");
  EXPECT_EQ(two->at(1).path, "/dev/ttyUSB1");
  EXPECT_EQ(select_ports(ports, {"1a86:7523", "0525:a4a7"})->size(), 3u);
  EXPECT_TRUE(select_ports(ports, {"dead:beef"})->empty());
  EXPECT_TRUE(select_ports(ports, {})->empty());
}

TEST(PortList, refusesWhatIsNoUsbId) {
  for (const char* id :
       {"", "1a86", "1a86-7523", "1a86:752", "1a86:75233", "1a8g:7523", ":::::::::", "1a86:7:23"}) {
    const auto selected = select_ports(ports, {id});
    ASSERT_FALSE(selected) << id;
    EXPECT_EQ(selected.error().kind, ErrorKind::usage);
  }
}

TEST(PortList, listsThisMachine) {
  const auto here = list_ports();
  ASSERT_TRUE(here) << here.error().text();
  EXPECT_TRUE(std::is_sorted(here->begin(), here->end(),
                             [](const auto& a, const auto& b) { return a.path < b.path; }));
  for (const PortInfo& port : *here) EXPECT_TRUE(port.path.starts_with("/dev/")) << port.path;
  EXPECT_TRUE(find_ports({"ffff:ffff"})->empty());
}

}  // namespace
}  // namespace assay::firmware
