#include "tutti/learn/data/svmlight.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <random>
#include <string>

#include "tutti/core/error.h"

namespace tutti::learn {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::int32_t> indices_of(const Matrix& matrix) {
  return {matrix.indices, matrix.indices + matrix.entries()};
}
std::vector<float> values_of(const Matrix& matrix) {
  const float* values = static_cast<const float*>(matrix.values);
  return {values, values + matrix.entries()};
}
std::string error_of(std::string_view text, const SvmlightOptions& options = {}) {
  try {
    parse_svmlight(text, "f.txt", options);
  } catch (const IoError& error) {
    return error.what();
  }
  return "none";
}

TEST(Svmlight, ReadsRowsLabelsAndValues) {
  const DataSet data = parse_svmlight("1 1:0.5 3:-2e1\n-1 qid:3 2:+1.25 # note\n\n0\r\n", "f");
  EXPECT_THAT(data.labels, ElementsAre(1, -1, 0));
  EXPECT_EQ(data.features.rows, 3);
  EXPECT_EQ(data.features.columns, 3);
  EXPECT_THAT(indices_of(data.features), ElementsAre(0, 2, 1));
  EXPECT_THAT(values_of(data.features), ElementsAre(0.5f, -20.0f, 1.25f));
}

TEST(Svmlight, OnesNeedNoValues) {
  EXPECT_EQ(parse_svmlight("1 1:1 2:1\n0 5:1.0\n", "f").features.values, nullptr);
  const DataSet late = parse_svmlight("1 1:1 2:1\n0 5:2\n", "f");
  EXPECT_THAT(values_of(late.features), ElementsAre(1, 1, 2));
}

TEST(Svmlight, ZeroAsIndexSetsTheBase) {
  EXPECT_EQ(parse_svmlight("1 0:1 2:1\n", "f").features.columns, 3);
  EXPECT_EQ(parse_svmlight("1 1:1 2:1\n", "f").features.columns, 2);
  EXPECT_EQ(parse_svmlight("1 1:1\n", "f", {.base = SvmlightOptions::Base::kZero}).features.columns,
            2);
  EXPECT_EQ(parse_svmlight("1 1:1\n", "f", {.columns = 9}).features.columns, 9);
}

TEST(Svmlight, ErrorsNameFileAndLine) {
  EXPECT_THAT(error_of("1 1:1\n1 2\n"), HasSubstr("f.txt:2: '2' is not index:value"));
  EXPECT_THAT(error_of("1 1:1\n\nx 2:1\n"), HasSubstr("f.txt:3: 'x' is not a label"));
  EXPECT_THAT(error_of("1 3:1 2:1\n"), HasSubstr("must increase"));
  EXPECT_THAT(error_of("1 3:1 3:1\n"), HasSubstr("must increase"));
  EXPECT_THAT(error_of("1 3:nan\n"), HasSubstr("not finite"));
  EXPECT_THAT(error_of("1 3:1e40\n"), HasSubstr("not finite"));
  EXPECT_THAT(error_of("1 99999999999:1\n"), HasSubstr("outside"));
  EXPECT_THAT(error_of("1 5:1\n", {.columns = 4}), HasSubstr("at most 4 were expected"));
  EXPECT_THAT(error_of("1 0:1\n", {.base = SvmlightOptions::Base::kOne}), HasSubstr("one-based"));
  EXPECT_THROW(read_svmlight("/nowhere/x"), IoError);
}

TEST(Svmlight, ReadsF64OnRequest) {
  const DataSet data = parse_svmlight("1 1:0.1 3:1e39\n", "f", {.dtype = DType::kF64});
  ASSERT_EQ(data.features.dtype, DType::kF64);
  EXPECT_EQ(static_cast<const double*>(data.features.values)[0], 0.1);
  EXPECT_EQ(static_cast<const double*>(data.features.values)[1], 1e39);
  EXPECT_THROW(parse_svmlight("1 1:1e39\n", "f"), IoError);
}

TEST(Svmlight, TooManyColumnsAreRejectedNotTruncated) {
  const auto message = [](std::string_view text, std::int64_t columns) -> std::string {
    try {
      parse_svmlight(text, "f", {.columns = columns});
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(message("1 1:1\n0 4294967297:1\n", 0),
            "DDL-9-03 f:2: index 4294967297 is outside of 0..2147483646. Renumber those that "
            "occur, or hash them to fewer.");
  EXPECT_EQ(message("1 1:1\n", 3000000000),
            "DDL-9-01 There are 3000000000 columns; the limit is 2147483647. Renumber those that "
            "occur, or hash them to fewer.");
}

TEST(Svmlight, EmptyTextIsRejected) {
  const DataSet data = parse_svmlight("", "f");
  EXPECT_EQ(data.features.rows, 0);
  EXPECT_EQ(data.features.entries(), 0);
}

TEST(Svmlight, ManyChunksMatchOneThread) {
  std::string text;
  std::mt19937 random(7);
  for (int row = 0; row < 90000; ++row) {
    text += row % 3 == 0 ? "1" : "-1";
    for (int index = 1; index < 60; index += 1 + static_cast<int>(random() % 9))
      text += " " + std::to_string(index) + ":0." + std::to_string(random() % 1000);
    text += '\n';
  }
  ASSERT_GT(text.size(), 9u << 20);
  const DataSet many = parse_svmlight(text, "f", {.threads = 3});
  const std::size_t half = text.find('\n', text.size() / 2) + 1;
  const DataSet first = parse_svmlight(std::string_view(text).substr(0, half), "f", {.threads = 1});
  EXPECT_EQ(many.features.rows, 90000);
  EXPECT_THAT(std::vector(many.features.offsets, many.features.offsets + first.features.rows + 1),
              testing::ElementsAreArray(first.features.offsets, first.features.rows + 1));
  text.replace(text.rfind(':'), 1, ";");
  EXPECT_THAT(error_of(text), HasSubstr("f.txt:90000:"));
}

TEST(Svmlight, RoundTrips) {
  const auto path =
      std::filesystem::temp_directory_path() / ("tutti-svm-" + std::to_string(::getpid()));
  const DataSet data = parse_svmlight("1 1:0.1 7:-3e-20\n-1\n2.5 2:1\n", "f");
  write_svmlight(path, data);
  const DataSet again = read_svmlight(path);
  std::filesystem::remove(path);
  EXPECT_EQ(again.labels, data.labels);
  EXPECT_EQ(indices_of(again.features), indices_of(data.features));
  EXPECT_EQ(values_of(again.features), values_of(data.features));
}

// A damaged file is rejected, or read as valid data.
TEST(Svmlight, SurvivesDamage) {
  const std::string good = "1 1:0.5 3:-2e1 # x\n-1 qid:3 2:1.25\n0 1:1 2:1 3:1\n";
  std::mt19937 random(1);
  int read = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string text = good;
    for (int i = 1 + static_cast<int>(random() % 3); i > 0; --i) {
      const std::size_t position = random() % text.size();
      if (random() % 3 == 0) {
        text.erase(position, 1 + random() % 4);
      } else {
        text[position] =
            random() % 2 == 0 ? "0123456789:#.-e \n"[random() % 17] : static_cast<char>(random());
      }
      if (text.empty()) text = " ";
    }
    try {
      const DataSet data = parse_svmlight(text, "f", {.threads = 1});
      ++read;
      ASSERT_EQ(static_cast<std::int64_t>(data.labels.size()), data.features.rows);
      for (std::int64_t i = 0; i < data.features.entries(); ++i) {
        ASSERT_GE(data.features.indices[i], 0);
        ASSERT_LT(data.features.indices[i], data.features.columns);
      }
    } catch (const IoError&) {
    }
  }
  EXPECT_GT(read, 100);
}

}  // namespace
}  // namespace tutti::learn
