#include "base/atomic_output.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <span>
#include <string_view>
#include <utility>

#include "tests/base/scratch.h"

namespace assay {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::span<const std::byte> text(std::string_view content) {
  return std::as_bytes(std::span(content));
}

TEST(AtomicOutput, appearsWholeWithItsHeaderFilledInLast) {
  const test::Scratch folder;
  auto output = AtomicOutput::create(folder / "model");
  ASSERT_TRUE(output);
  ASSERT_TRUE(output->write(text("size ???? ")));
  ASSERT_TRUE(output->write(text("content")));
  ASSERT_TRUE(output->write_at(5, text("0017")));
  EXPECT_EQ(output->size(), 17U);
  ASSERT_TRUE(output->write(text(".")));
  EXPECT_FALSE(std::filesystem::exists(folder / "model"));
  ASSERT_TRUE(output->commit());
  EXPECT_EQ(folder.content("model"), "size 0017 content.");
  EXPECT_THAT(folder.names(), ElementsAre("model"));
}

TEST(AtomicOutput, withoutACommitNothingIsLeftAndTheOldFileStays) {
  const test::Scratch folder;
  folder.write("model", "old");
  {
    auto output = AtomicOutput::create(folder / "model");
    ASSERT_TRUE(output);
    ASSERT_TRUE(output->write(text("half of the n")));
    const AtomicOutput moved = std::move(*output);
    EXPECT_EQ(folder.names().size(), 2U);
  }
  EXPECT_EQ(folder.content("model"), "old");
  EXPECT_THAT(folder.names(), ElementsAre("model"));
}

TEST(AtomicOutput, aFullDiskIsToldByTheNameThatWasAskedFor) {
  const test::Scratch folder;
  {
    auto output = AtomicOutput::create(folder / "model");
    ASSERT_TRUE(output);
    const auto written = test::with_file_size_limit(
        100, [&] { return output->write(text(std::string(1000, 'x'))); });
    ASSERT_FALSE(written);
    EXPECT_EQ(written.error().where, folder / "model");
    EXPECT_EQ(output->size(), 0U);
  }
  EXPECT_THAT(folder.names(), IsEmpty());
}

}  // namespace
}  // namespace assay
