#include "tutti/learn/data/row_stream.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <limits>
#include <numeric>

#include "tutti/core/error.h"
#include "tutti/learn/base/threads.h"

namespace tutti::learn {
namespace {

constexpr std::int64_t kChunkRows = 1000, kColumns = 4;

// A file with `rows` rows whose values encode their position, in chunks.
class RowStreamTest : public testing::TestWithParam<io::ReadQueue::Engine> {
 protected:
  std::shared_ptr<const DataFile> write(std::int64_t rows) {
    std::vector<float> values(static_cast<std::size_t>(rows * kColumns));
    std::iota(values.begin(), values.end(), 0.0f);
    DataSet data;
    data.features = {
        .rows = rows, .columns = kColumns, .values = values.data(), .row_stride = kColumns};
    data.labels.assign(static_cast<std::size_t>(rows), 1);
    write_data_file(path_, data, kChunkRows);
    return std::make_shared<DataFile>(path_);
  }
  // Memory for this number of chunks.
  std::int64_t bytes_for(std::int64_t chunks) const { return chunks * 28672; }
  std::unique_ptr<RowStream> open(std::int64_t rows, std::int64_t chunks) {
    return std::make_unique<RowStream>(write(rows), bytes_for(chunks), GetParam());
  }
  ~RowStreamTest() override { std::filesystem::remove(path_); }

  std::filesystem::path path_ =
      std::filesystem::temp_directory_path() / ("tutti-row-stream-" + std::to_string(::getpid()));
  Threads threads_{2};
};

void expect_rows(const Matrix& rows, std::int64_t first) {
  const auto* values = static_cast<const float*>(rows.values);
  for (std::int64_t i = 0; i < rows.rows * kColumns; ++i)
    ASSERT_EQ(values[i], static_cast<float>(first * kColumns + i));
}

TEST_P(RowStreamTest, VisitsEveryChunkInOrderInEachPass) {
  for (const std::int64_t chunks : {1, 3, 7, 20}) {
    const std::int64_t rows = chunks * kChunkRows - 1;
    const auto stream = open(rows, 5);
    EXPECT_EQ(stream->residents(), chunks <= 5 ? chunks : 3);
    for (int pass = 0; pass < 3; ++pass) {
      std::int64_t next = 0;
      stream->for_chunks(threads_, [&](const Matrix& m, std::int64_t first) {
        EXPECT_EQ(first, next);
        expect_rows(m, first);
        next = first + m.rows;
      });
      EXPECT_EQ(next, rows);
    }
    // Two buffers may have been filled for a pass that did not take place.
    const std::int64_t streamed = chunks <= 5 ? 0 : chunks - 3;
    EXPECT_LE(stream->chunks_read(), chunks + 2 * streamed + 2);
    EXPECT_GE(stream->chunks_read(), chunks + 2 * streamed);
  }
}

TEST_P(RowStreamTest, ResidentChunksNeedNoReads) {
  const auto stream = open(20 * kChunkRows, 8);
  for (int pass = 0; pass < 3; ++pass) {
    std::int64_t seen = 0;
    stream->for_residents(threads_, [&](const Matrix& m, std::int64_t first) {
      expect_rows(m, first);
      ++seen;
    });
    EXPECT_EQ(seen, stream->residents());
  }
  EXPECT_LE(stream->chunks_read(), stream->residents() + 4);
}

TEST_P(RowStreamTest, VisitsOtherChunksOfARange) {
  const auto stream = open(20 * kChunkRows, 8);
  stream->for_residents(threads_, [](const Matrix&, std::int64_t) {});
  std::int64_t seen = 0;
  for (const auto& [begin, end] : {std::pair{0, 7}, {7, 7}, {7, 8}, {8, 20}})
    stream->for_others(threads_, begin, end, [&](const Matrix& m, std::int64_t first) {
      expect_rows(m, first);
      const std::int64_t chunk = first / kChunkRows;
      EXPECT_FALSE(stream->is_resident(chunk));
      EXPECT_TRUE(begin <= chunk && chunk < end);
      ++seen;
    });
  EXPECT_EQ(seen, 20 - stream->residents());
  // No chunk is read twice, except for reads started for the next pass.
  EXPECT_LE(stream->chunks_read(), 20 + 4);
}

TEST_P(RowStreamTest, ContinuesAfterAnException) {
  const auto stream = open(12 * kChunkRows, 4);
  for (const std::int64_t last : {0, 2, 5, 11}) {
    EXPECT_THROW(stream->for_chunks(threads_,
                                    [&](const Matrix&, std::int64_t first) {
                                      if (first == last * kChunkRows) throw std::runtime_error("x");
                                    }),
                 std::runtime_error);
    std::int64_t rows = 0;
    stream->for_chunks(threads_, [&](const Matrix& m, std::int64_t first) {
      expect_rows(m, first);
      rows += m.rows;
    });
    EXPECT_EQ(rows, 12 * kChunkRows);
  }
}

TEST_P(RowStreamTest, DetectsDamage) {
  write(12 * kChunkRows);
  {
    std::fstream file(path_, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(9 * 24576 + 4096 + 9000);
    file.put('x');
  }
  RowStream stream(std::make_shared<DataFile>(path_), bytes_for(4), GetParam());
  EXPECT_THROW(stream.for_chunks(threads_, [](const Matrix&, std::int64_t) {}), IoError);
}

TEST_P(RowStreamTest, RejectsValuesThatAreNotFinite) {
  std::vector<float> values(static_cast<std::size_t>(9 * kChunkRows * kColumns));
  values[static_cast<std::size_t>(8 * kChunkRows * kColumns) - 1] =
      std::numeric_limits<float>::quiet_NaN();
  DataSet data;
  data.features = {
      .rows = 9 * kChunkRows, .columns = kColumns, .values = values.data(), .row_stride = kColumns};
  write_data_file(path_, data, kChunkRows);
  RowStream stream(std::make_shared<DataFile>(path_), bytes_for(4), GetParam());
  EXPECT_THROW(stream.for_chunks(threads_, [](const Matrix&, std::int64_t) {}), ConfigError);
}

std::vector<std::int64_t> chunks_up_to(std::int64_t count) {
  std::vector<std::int64_t> chunks(static_cast<std::size_t>(count));
  std::iota(chunks.begin(), chunks.end(), 0);
  return chunks;
}

constexpr RowStream::Partition kPartition{.parts = 3, .block_rows = 64};

TEST_P(RowStreamTest, PartsAreVisitedInOrderWithAllRows) {
  for (const std::int64_t buffers : {3, 5, 8}) {
    const std::int64_t rows = 20 * kChunkRows - 1;
    const auto stream = open(rows, buffers);
    for (int pass = 0; pass < 3; ++pass) {
      std::vector<std::int64_t> next(kPartition.parts), seen(kPartition.parts);
      stream->for_parts(threads_, chunks_up_to(20), kPartition,
                        [&](std::int64_t part, const Matrix& m, std::int64_t first,
                            std::int64_t begin, std::int64_t end) {
                          expect_rows(m, first);
                          EXPECT_EQ(begin % kPartition.block_rows, 0);
                          EXPECT_GE(begin, 16 * part / 3 * kPartition.block_rows);
                          EXPECT_LE(end, 16 * (part + 1) / 3 * kPartition.block_rows);
                          EXPECT_GE(first + begin, next[part]);
                          next[part] = first + end;
                          seen[part] += end - begin;
                        });
      EXPECT_EQ(seen[0] + seen[1] + seen[2], rows);
      EXPECT_EQ(next[2], rows);
    }
    EXPECT_GE(stream->chunks_read(), 20 + 2 * (20 - stream->residents()));
    EXPECT_LE(stream->chunks_read(), 20 + 2 * (20 - stream->residents()) + buffers);
  }
}

TEST_P(RowStreamTest, PartsOfSomeChunksOnly) {
  const auto stream = open(20 * kChunkRows, 8);
  std::vector<std::int64_t> residents, others;
  for (const std::int64_t chunk : chunks_up_to(20))
    (stream->is_resident(chunk) ? residents : others).push_back(chunk);
  for (int pass = 0; pass < 2; ++pass)
    for (const auto& chunks : {residents, others}) {
      std::atomic<std::int64_t> rows = 0;
      stream->for_parts(threads_, chunks, kPartition,
                        [&](std::int64_t, const Matrix& m, std::int64_t first, std::int64_t begin,
                            std::int64_t end) {
                          expect_rows(m, first);
                          EXPECT_EQ(stream->is_resident(first / kChunkRows), chunks == residents);
                          rows += end - begin;
                        });
      EXPECT_EQ(rows, static_cast<std::int64_t>(chunks.size()) * kChunkRows);
    }
  stream->for_parts(threads_, {}, kPartition, [](auto&&...) { FAIL(); });
}

TEST_P(RowStreamTest, PartsContinueAfterAnException) {
  const auto stream = open(12 * kChunkRows, 4);
  for (const std::int64_t last : {0, 2, 5, 11})
    for (const bool is_watch : {false, true}) {
      std::int64_t calls = 0;
      stream->set_on_chunk([&] {
        if (is_watch && calls++ == last) throw std::runtime_error("x");
      });
      EXPECT_THROW(
          stream->for_parts(threads_, chunks_up_to(12), kPartition,
                            [&](std::int64_t, const Matrix&, std::int64_t first, auto&&...) {
                              if (!is_watch && first == last * kChunkRows)
                                throw std::runtime_error("x");
                            }),
          std::runtime_error);
      stream->set_on_chunk([] {});
      std::atomic<std::int64_t> rows = 0;
      stream->for_parts(threads_, chunks_up_to(12), kPartition,
                        [&](std::int64_t, const Matrix& m, std::int64_t first, std::int64_t begin,
                            std::int64_t end) {
                          expect_rows(m, first);
                          rows += end - begin;
                        });
      EXPECT_EQ(rows, 12 * kChunkRows);
    }
}

TEST_P(RowStreamTest, PartsDetectDamageInEveryPass) {
  write(12 * kChunkRows);
  for (const std::int64_t chunk : {3, 9}) {  // the first of them is resident
    const auto flip = [&] {
      std::fstream file(path_, std::ios::in | std::ios::out | std::ios::binary);
      file.seekg(chunk * 24576 + 4096 + 9000);
      const int byte = file.get();
      file.seekp(chunk * 24576 + 4096 + 9000);
      file.put(static_cast<char>(byte ^ 1));
    };
    flip();
    RowStream stream(std::make_shared<DataFile>(path_), bytes_for(6), GetParam());
    for (int pass = 0; pass < 2; ++pass)
      EXPECT_THROW(stream.for_parts(threads_, chunks_up_to(12), kPartition, [](auto&&...) {}),
                   IoError);
    flip();
    EXPECT_NO_THROW(stream.for_parts(threads_, chunks_up_to(12), kPartition, [](auto&&...) {}));
  }
}

TEST_P(RowStreamTest, RejectsTooLittleMemory) {
  EXPECT_THROW(open(12 * kChunkRows, 2), ConfigError);
}

INSTANTIATE_TEST_SUITE_P(Engines, RowStreamTest,
                         testing::Values(io::ReadQueue::Engine::kAuto,
                                         io::ReadQueue::Engine::kThreads),
                         [](const auto& test) {
                           return test.param == io::ReadQueue::Engine::kAuto ? "Auto" : "Threads";
                         });

TEST(RowStream, RemapsColumnsOfPresentAndLaterChunks) {
  const auto path = std::filesystem::temp_directory_path() /
                    ("tutti-row-stream-names-" + std::to_string(::getpid()));
  SparseRowsBuilder builder;
  for (int row = 0; row < 20000; ++row) {
    builder.add(row % 5, 1);
    builder.end_row();
  }
  DataSet data{.features = std::move(builder).build(5), .labels = {}, .weights = {}};
  write_data_file(path, data, 1000);
  Threads threads(2);
  RowStream stream(std::make_shared<DataFile>(path), 6 * 16384);
  ASSERT_LT(stream.residents(), 20);
  stream.for_residents(threads, [](const Matrix&, std::int64_t) {});
  const std::vector<std::int32_t> new_index = {4, 3, 2, 1, 0};
  stream.remap_columns(new_index, threads);
  for (int pass = 0; pass < 2; ++pass)
    stream.for_chunks(threads, [&](const Matrix& m, std::int64_t first) {
      for (std::int64_t row = 0; row < m.rows; ++row)
        ASSERT_EQ(m.indices[row], 4 - (first + row) % 5);
    });
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace tutti::learn
