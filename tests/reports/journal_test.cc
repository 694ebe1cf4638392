#include <gtest/gtest.h>

#include <fstream>

#include "reports/journal/journal_reader.h"
#include "reports/journal/journal_writer.h"
#include "tests/support/program.h"

namespace assay::reports {
namespace {

std::string log_line(std::uint64_t sequence, const std::string& text) {
  return to_line({sequence, 1'796'000'000'000'000'000, std::nullopt, Log{Severity::info, text}});
}

struct Collected {
  std::vector<std::string> messages;
  std::vector<std::uint64_t> bad_lines;
};

Collected poll_all(JournalReader& reader, std::uint64_t max_bytes = UINT64_MAX) {
  Collected collected;
  EXPECT_TRUE(reader.poll(
      [&](const Result<Event>& event, std::uint64_t line) {
        if (event) {
          collected.messages.push_back(std::get<Log>(event->payload).message);
        } else {
          collected.bad_lines.push_back(line);
        }
      },
      max_bytes));
  return collected;
}

TEST(Journal, isNeverOverwritten) {
  const test::TemporaryFolder folder;
  const std::string path = folder / "journal.jsonl";
  ASSERT_TRUE(JournalWriter::create(path));
  const auto again = JournalWriter::create(path);
  ASSERT_FALSE(again);
  EXPECT_NE(again.error().text().find("journal.jsonl"), std::string::npos);
}

TEST(Journal, aReaderFollowsAndTakesWholeLinesOnly) {
  const test::TemporaryFolder folder;
  const std::string path = folder / "journal.jsonl";
  std::ofstream file(path);
  auto reader = JournalReader::open(path);
  ASSERT_TRUE(reader);
  EXPECT_TRUE(poll_all(*reader).messages.empty());
  const std::string line = log_line(0, "one");
  file << line.substr(0, 10) << std::flush;
  EXPECT_TRUE(poll_all(*reader).messages.empty());
  EXPECT_EQ(reader->unfinished().size(), 10u);
  file << line.substr(10) << '\n' << log_line(1, "two") << '\n' << std::flush;
  EXPECT_EQ(poll_all(*reader).messages, (std::vector<std::string>{"one", "two"}));
  EXPECT_EQ(reader->unfinished(), "");
}

TEST(Journal, anEndlessLineIsOneBadLineAndTakesNoMemory) {
  const test::TemporaryFolder folder;
  const std::string path = folder / "journal.jsonl";
  {
    std::ofstream file(path);
    const std::string piece(1 << 16, 'x');
    for (int i = 0; i < 100; ++i) file << piece;
    file << '\n' << log_line(0, "after") << '\n';
  }
  auto reader = JournalReader::open(path);
  ASSERT_TRUE(reader);
  const Collected collected = poll_all(*reader);
  EXPECT_EQ(collected.bad_lines, std::vector<std::uint64_t>{1});
  EXPECT_EQ(collected.messages, std::vector<std::string>{"after"});
}

TEST(Journal, tellsALiveWriterFromADeadOne) {
  const test::TemporaryFolder folder;
  const std::string path = folder / "journal.jsonl";
  auto writer = JournalWriter::create(path);
  ASSERT_TRUE(writer);
  auto reader = JournalReader::open(path);
  ASSERT_TRUE(reader);
  EXPECT_TRUE(reader->is_being_written());
  // A look does not disturb the writer, nor another look.
  EXPECT_TRUE(writer->append(log_line(0, "x")));
  EXPECT_TRUE(reader->is_being_written());
  { const JournalWriter gone = std::move(*writer); }
  EXPECT_FALSE(reader->is_being_written());
}

TEST(Journal, aFolderADeviceOrAMissingFileIsAClearError) {
  EXPECT_EQ(JournalReader::open("/dev/zero").error().kind, ErrorKind::bad_file);
  const test::TemporaryFolder folder;
  EXPECT_EQ(JournalReader::open(folder.path()).error().kind, ErrorKind::bad_file);
  EXPECT_EQ(JournalReader::open(folder / "none").error().kind, ErrorKind::bad_file);
}

}  // namespace
}  // namespace assay::reports
