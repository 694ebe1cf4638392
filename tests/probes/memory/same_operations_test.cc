// The kernel of real memory and the simulator issue the same operations in the same order, for
// every element of every test.
#include <gtest/gtest.h>

#include <cstring>
#include <new>

#include "probes/memory/line_kernel.h"
#include "tests/probes/memory/simulated_run.h"

namespace assay::test {
namespace {

using probes::Algorithm;
using probes::Element;
using probes::Flush;
using probes::line_bytes;
using probes::LineData;
using probes::LineOperation;
using probes::Order;
using probes::words_per_line;

// A batch and a half, so that the last one is cut.
constexpr std::size_t line_count = probes::flush_batch_lines * 3 / 2;

// One line more on each side, which nobody may touch.
class Buffer {
 public:
  Buffer() : all_(static_cast<std::byte*>(::operator new (size, std::align_val_t{line_bytes}))) {
    std::memset(all_, 0x5C, size);
  }
  ~Buffer() { ::operator delete (all_, std::align_val_t{line_bytes}); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  std::byte* region() const { return all_ + line_bytes; }
  std::uint64_t word(std::size_t i) const {
    std::uint64_t value = 0;
    std::memcpy(&value, region() + i * 8, 8);
    return value;
  }
  bool guards_whole() const {
    for (std::size_t i = 0; i < line_bytes; ++i) {
      if (all_[i] != std::byte{0x5C} || all_[size - 1 - i] != std::byte{0x5C}) return false;
    }
    return true;
  }

 private:
  static constexpr std::size_t size = (line_count + 2) * line_bytes;
  std::byte* all_;
};

// Sees every access to every line and every flush, and what a line holds when it was written.
class Recorder final : public probes::LineHook {
 public:
  Recorder() {
    for (std::size_t i = 0; i < line_count; ++i) all_.push_back(i);
  }
  std::span<const std::size_t> lines_of_region() const { return all_; }
  std::span<const std::size_t> lines(std::size_t) override { return all_; }
  void written(std::byte* region, std::size_t line) override {
    note(region, line, Access::Kind::write);
  }
  void about_to_read(std::byte* region, std::size_t line) override {
    note(region, line, Access::Kind::read);
  }
  void flushed(std::byte* region, std::size_t line) override {
    note(region, line, Access::Kind::flush);
  }

  struct Seen {
    std::size_t line;
    Access::Kind kind;
    std::uint64_t first_word;
  };
  std::vector<Seen> seen;

 private:
  void note(std::byte* region, std::size_t line, Access::Kind kind) {
    std::uint64_t word = 0;
    std::memcpy(&word, region + line * line_bytes, 8);
    seen.push_back({line, kind, word});
  }
  std::vector<std::size_t> all_;
};

std::vector<LineData> data_of(const Algorithm& test, const Buffer& buffer) {
  std::vector<LineData> data;
  for (const auto& background : test.data) {
    data.emplace_back(background, reinterpret_cast<std::uintptr_t>(buffer.region()));
  }
  return data;
}

std::vector<LineOperation> operations_of(const Element& element,
                                         const std::vector<LineData>& data) {
  std::vector<LineOperation> operations;
  for (const auto& op : element.operations) {
    operations.push_back(
        {op.write, op.select, static_cast<std::uint16_t>(operations.size()), &data[op.data]});
  }
  return operations;
}

std::vector<Algorithm> all_tests() {
  std::vector<Algorithm> tests;
  for (const std::string& name : probes::algorithm_names()) {
    tests.push_back(probes::make_algorithm(name).value());
  }
  tests.push_back(probes::make_algorithm("0x1234~").value());
  return tests;
}

TEST(SameOperations, onRealMemoryAndInTheSimulator) {
  for (const Algorithm& test : all_tests()) {
    for (const Flush flush : {Flush::none, Flush::stream, Flush::batch, Flush::line}) {
      Buffer buffer;
      const auto data = data_of(test, buffer);
      for (const Element& element : test.elements) {
        const auto operations = operations_of(element, data);
        Recorder recorder;
        probes::Mismatches mismatches;
        probes::run_lines(buffer.region(), 0, line_count, {element.order, flush, operations},
                          recorder.lines_of_region(), &recorder, mismatches);
        EXPECT_EQ(mismatches.count, 0U) << test.name;
        const auto simulated =
            accesses_of(element, element.order, flush, probes::flush_batch_lines, line_count);
        ASSERT_EQ(recorder.seen.size(), simulated.size()) << test.name;
        for (std::size_t i = 0; i < simulated.size(); ++i) {
          const auto& background = test.data[simulated[i].data];
          ASSERT_EQ(recorder.seen[i].line, simulated[i].cell) << test.name << " " << i;
          ASSERT_EQ(recorder.seen[i].kind, simulated[i].kind) << test.name << " " << i;
          if (simulated[i].kind == Access::Kind::flush) continue;
          // A modulo-20 write may leave the line's first word alone.
          if (background.kind == probes::Background::Kind::modulo_20) continue;
          ASSERT_EQ(recorder.seen[i].first_word,
                    word_of(background, simulated[i].cell * words_per_line,
                            reinterpret_cast<std::uintptr_t>(buffer.region())))
              << test.name << " " << i;
        }
      }
      EXPECT_TRUE(buffer.guards_whole()) << test.name;
    }
  }
}

// Without a hook: what stays behind is the last datum written, in every word.
TEST(SameOperations, leaveTheLastDatumInEveryWord) {
  for (const Algorithm& test : all_tests()) {
    if (test.block_move) continue;
    Buffer buffer;
    const auto data = data_of(test, buffer);
    probes::Mismatches mismatches;
    for (const Element& element : test.elements) {
      const auto operations = operations_of(element, data);
      const Flush flush = flush_of(element, Flush::automatic);
      probes::run_lines(buffer.region(), 0, line_count, {element.order, flush, operations}, {},
                        nullptr, mismatches);
    }
    EXPECT_EQ(mismatches.count, 0U) << test.name;
    EXPECT_TRUE(buffer.guards_whole()) << test.name;
    const auto& last = test.data[test.elements.back().operations.back().data];
    for (std::size_t i = 0; i < line_count * words_per_line; ++i) {
      ASSERT_EQ(buffer.word(i), word_of(last, i, reinterpret_cast<std::uintptr_t>(buffer.region())))
          << test.name << " " << i;
    }
  }
}

TEST(SameOperations, aWrongWordAnywhereIsReportedAsItWasRead) {
  for (const probes::Background& background :
       {probes::Background{.value = 0xAAAAAAAAAAAAAAAA},
        probes::Background{.kind = probes::Background::Kind::random, .value = 3},
        probes::Background{.kind = probes::Background::Kind::address},
        probes::Background{.kind = probes::Background::Kind::checkerboard},
        probes::Background{.kind = probes::Background::Kind::modulo_20, .offset = 3}}) {
    Buffer buffer;
    const LineData data(background, reinterpret_cast<std::uintptr_t>(buffer.region()));
    const LineOperation write[] = {{true, probes::Select::all, 0, &data}};
    const LineOperation read_write[] = {{false, probes::Select::all, 7, &data},
                                        {true, probes::Select::all, 8, &data}};
    probes::Mismatches mismatches{.list = {}, .count = 0, .most = 10};
    probes::run_lines(buffer.region(), 0, line_count, {Order::up, Flush::none, write}, {}, nullptr,
                      mismatches);
    for (const std::size_t i : {std::size_t{0}, std::size_t{13}, line_count * words_per_line - 1}) {
      const std::uint64_t wrong = buffer.word(i) ^ (std::uint64_t{1} << (i % 64));
      std::memcpy(buffer.region() + i * 8, &wrong, 8);
      const std::uint64_t expected =
          word_of(background, i, reinterpret_cast<std::uintptr_t>(buffer.region()));
      for (const Order order : {Order::down, Order::up}) {
        mismatches.list.clear();
        probes::run_lines(buffer.region(), 0, line_count, {order, Flush::none, read_write}, {},
                          nullptr, mismatches);
        if (order == Order::up) {
          // The pass before wrote it right.
          EXPECT_TRUE(mismatches.list.empty());
          continue;
        }
        ASSERT_EQ(mismatches.list.size(), 1U) << i;
        EXPECT_EQ(mismatches.list[0].offset, i * 8);
        EXPECT_EQ(mismatches.list[0].expected, expected);
        EXPECT_EQ(mismatches.list[0].actual, wrong);
        EXPECT_EQ(mismatches.list[0].again, wrong);
        EXPECT_EQ(mismatches.list[0].operation, 7);
      }
    }
    EXPECT_EQ(mismatches.count, 3U);
  }
}

TEST(SameOperations, copiedLinesAreWhereTheyWereCopied) {
  Buffer buffer;
  const probes::Background random{.kind = probes::Background::Kind::random, .value = 9};
  const LineData data(random, reinterpret_cast<std::uintptr_t>(buffer.region()));
  const LineOperation write[] = {{true, probes::Select::all, 0, &data}};
  const LineOperation read{false, probes::Select::all, 0, &data};
  probes::Mismatches mismatches{.list = {}, .count = 0, .most = 10};
  probes::run_lines(buffer.region(), 0, 40, {Order::up, Flush::none, write}, {}, nullptr,
                    mismatches);
  probes::copy_lines(buffer.region(), 3, 50, 20);
  probes::verify_lines(buffer.region(), 50, 20, 3, read, mismatches);
  EXPECT_EQ(mismatches.count, 0U);
  probes::verify_lines(buffer.region(), 50, 20, 4, read, mismatches);
  EXPECT_EQ(mismatches.count, 20U * words_per_line);
  EXPECT_TRUE(buffer.guards_whole());
}

}  // namespace
}  // namespace assay::test
