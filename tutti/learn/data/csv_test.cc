#include "tutti/learn/data/csv.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>

#include "tutti/core/error.h"

namespace tutti::learn {
namespace {

std::vector<float> numbers(const DataSet& data) {
  const auto* values = static_cast<const float*>(data.features.values);
  return {values, values + data.features.entries()};
}

std::string message(std::string_view text, const CsvOptions& options = {}) {
  try {
    parse_csv(text, "f.csv", options);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(Csv, ReadsNamesLabelsAndNumbers) {
  const DataSet data = parse_csv("a,label,b\n1,7,2.5\n\n-3e2,8,+4\r\n", "f.csv");
  EXPECT_EQ(data.labels, (std::vector<double>{7, 8}));
  EXPECT_EQ(numbers(data), (std::vector<float>{1, 2.5, -300, 4}));
  EXPECT_EQ(data.features.columns, 2);
}

TEST(Csv, SelectsTheLabelColumnByName) {
  EXPECT_EQ(parse_csv("a;b\n1;2\n", "f").labels.at(0), 1);
  EXPECT_EQ(parse_csv("a;b\n1;2\n", "f", {.label = "b"}).labels.at(0), 2);
  EXPECT_EQ(parse_csv("1\t2\n", "f", {.label = "1"}).labels.at(0), 2);
  const DataSet none = parse_csv("1,2\n3,4", "f", {.label = "none"});
  EXPECT_TRUE(none.labels.empty());
  EXPECT_EQ(none.features.rows, 2);
  EXPECT_EQ(message("a,b\n1,2\n", {.label = "c"}),
            "DDL-9-04 f.csv: there is no label column 'c' among its 2 columns. Pass a column name, "
            "an index from 0, or none.");
  EXPECT_NE(message("1,2\n", {.label = "2"}), "");
}

TEST(Csv, EmptyFieldsAreMissing) {
  const std::vector<float> found = numbers(parse_csv("1,,NA,\"3\",?\n", "f"));
  EXPECT_TRUE(std::isnan(found[0]) && std::isnan(found[1]) && std::isnan(found[3]));
  EXPECT_EQ(found[2], 3);
}

TEST(Csv, ErrorsNameFileLineAndColumn) {
  EXPECT_EQ(message("a,b\n1,2\n\n1,x\n"), "DDL-9-03 f.csv:4: column 1: 'x' is not a number.");
  EXPECT_EQ(message("1,2\n1\n"), "DDL-9-03 f.csv:2: there are only 1 columns.");
  EXPECT_EQ(message("1,2\n1,2,3\n"), "DDL-9-03 f.csv:2: there are more than 2 columns.");
  EXPECT_EQ(message("1,2\n,2\n"), "DDL-9-03 f.csv:2: column 0: the label is missing.");
  EXPECT_EQ(message("1,1e39\n"), "DDL-9-03 f.csv:1: column 1: '1e39' is too large for f32.");
  EXPECT_EQ(message(""), "DDL-9-03 f.csv: the file has no rows.");
  EXPECT_EQ(message("a,b\n"), "DDL-9-03 f.csv: the file has no rows.");
}

TEST(Csv, StringsBecomeCodes) {
  const std::string text = "y,size,town\nno,1,Rome\nyes,2,\nno,NA,Bonn\nno,3,7\n";
  EXPECT_EQ(message(text), "DDL-9-03 f.csv:2: column 0: 'no' is not a number.");
  const DataSet data = parse_csv(text, "f", {.parse_strings = true});
  EXPECT_EQ(data.labels, (std::vector<double>{0, 1, 0, 0}));
  EXPECT_EQ(data.categories.labels, (std::vector<std::string>{"no", "yes"}));
  EXPECT_EQ(data.categories.categorical(), std::vector<int>{1});
  EXPECT_EQ(data.categories.columns[1], (std::vector<std::string>{"7", "Bonn", "Rome"}));
  const std::vector<float> found = numbers(data);
  EXPECT_EQ(found[1], 2);
  EXPECT_TRUE(std::isnan(found[3]) && std::isnan(found[4]));
  EXPECT_EQ(found[5], 1);
  EXPECT_EQ(found[7], 0);
  const Matrix one_hot = one_hot_encode(data.features, data.categories);
  EXPECT_EQ(one_hot.columns, 4);
  const std::vector<std::int64_t> ends(one_hot.offsets, one_hot.offsets + 5);
  EXPECT_EQ(ends, (std::vector<std::int64_t>{0, 2, 3, 5, 7}));  // a missing category becomes zeros
  const std::vector<std::int32_t> indices(one_hot.indices, one_hot.indices + 7);
  EXPECT_EQ(indices, (std::vector<std::int32_t>{0, 3, 0, 0, 2, 0, 1}));
  const auto* entries = static_cast<const float*>(one_hot.values);
  EXPECT_EQ(entries[1], 1);
  EXPECT_EQ(entries[5], 3);
  EXPECT_TRUE(std::isnan(entries[3]));                       // a missing number stays missing
  EXPECT_EQ(message("1,2\n1,x\n", {.parse_strings = true}),  // no header line
            "DDL-9-03 f.csv:2: column 1: 'x' is not a number.");
  // Parses the file again with the categories of a model.
  const CsvOptions again{.parse_strings = true, .known = data.categories};
  const std::vector<float> others =
      numbers(parse_csv("y,size,town\nyes,4,Rome\nno,5,Oslo\n", "f", again));
  EXPECT_EQ(others[1], 2);
  EXPECT_TRUE(std::isnan(others[3]));
  EXPECT_EQ(message("y,size,town\nmaybe,4,Rome\n", again),
            "DDL-9-03 f.csv: row 0: 'maybe' is not a label of the training data.");
  EXPECT_EQ(message("y,size,town\nyes,big,Rome\n", again),
            "DDL-9-03 f.csv:2: column 1: 'big' is not a number.");
}

TEST(Csv, QuotesKeepDelimitersNewlinesAndQuotes) {
  const std::string text =
      "y,\"town, country\",x\n1,\"Rome, Italy\",2\n0, \"say \"\"hi\"\"\" "
      ",\"3\"\n1,\"two\nlines\",4\n0,5\" pipe,6\n";
  const DataSet data = parse_csv(text, "f", {.parse_strings = true});
  EXPECT_EQ(data.features.rows, 4);
  EXPECT_EQ(data.categories.columns[0],
            (std::vector<std::string>{"5\" pipe", "Rome, Italy", "say \"hi\"", "two\nlines"}));
  EXPECT_EQ(numbers(data), (std::vector<float>{1, 2, 2, 3, 3, 4, 0, 6}));
  EXPECT_EQ(parse_csv(text, "f", {.label = "town, country", .parse_strings = true}).labels,
            (std::vector<double>{1, 2, 3, 0}));
  EXPECT_EQ(parse_csv("\"a;b\",c\n1,2\n", "f").features.columns, 1);
  EXPECT_EQ(message("a,b\n1,\"2\n\"\n1,x\n"), "DDL-9-03 f.csv:2: column 1: '2\n' is not a number.");
  EXPECT_EQ(message("a,b\n1,\"p\nq\"\n1,x\n1,2\n1\n", {.parse_strings = true}),
            "DDL-9-03 f.csv:6: there are only 1 columns.");
  EXPECT_EQ(message("a,b\n1,2\n1,\"2\n1,3\n"),
            "DDL-9-03 f.csv:3: column 1: the opening quote is not closed.");
}

// Chunks end at the end of a row, not at a newline inside quotes.
TEST(Csv, QuotesInManyChunks) {
  std::string text = "y,a\n";
  for (int i = 0; i < 600000; ++i) text += std::to_string(i % 2) + ",\"x\n,\"\"y\"\n";
  const DataSet data = parse_csv(text, "f", {.threads = 3, .parse_strings = true});
  EXPECT_EQ(data.features.rows, 600000);
  EXPECT_EQ(data.categories.columns[0], std::vector<std::string>{"x\n,\"y"});
}

TEST(Csv, ReadsF64OnRequest) {
  const DataSet data = parse_csv("1,0.1\n2,1e39\n", "f", {.dtype = DType::kF64});
  ASSERT_EQ(data.features.dtype, DType::kF64);
  const auto* values = static_cast<const double*>(data.features.values);
  EXPECT_EQ(values[0], 0.1);
  EXPECT_EQ(values[1], 1e39);
  const DataSet parsed =
      parse_csv("y,a,b\n1,u,0.1\n2,v,0.2\n", "f", {.parse_strings = true, .dtype = DType::kF64});
  const Matrix one_hot = one_hot_encode(parsed.features, parsed.categories);
  EXPECT_EQ(one_hot.columns, 3);
  EXPECT_EQ(static_cast<const double*>(one_hot.values)[1], 0.1);
}

TEST(Csv, ReadsInChunksWithAnyNumberOfThreads) {
  std::string text = "y,a,b\n";
  for (int i = 0; i < 400000; ++i)
    text += std::to_string(i) + "," + std::to_string(i % 77) + ",0.5\n";
  const DataSet one = parse_csv(text, "f", {.label = "", .threads = 1});
  const DataSet three = parse_csv(text, "f", {.label = "", .threads = 3});
  EXPECT_EQ(one.labels.size(), 400000u);
  EXPECT_EQ(one.labels, three.labels);
  EXPECT_EQ(numbers(one), numbers(three));
  text += "1,2,x\n";
  EXPECT_EQ(message(text), "DDL-9-03 f.csv:400002: column 2: 'x' is not a number.");
}

TEST(Csv, CategoriesRoundTrip) {
  const auto path =
      std::filesystem::temp_directory_path() / ("tutti-csv-words-" + std::to_string(::getpid()));
  const DataSet data =
      parse_csv("y,a\nno,\"p, q\"\nyes,\nno,\"r \"\"s\"\"\"\n", "f", {.parse_strings = true});
  write_csv(path, data);
  const DataSet again = read_csv(path, {.parse_strings = true});
  std::filesystem::remove(path);
  EXPECT_EQ(again.labels, data.labels);
  EXPECT_EQ(again.categories.labels, data.categories.labels);
  EXPECT_EQ(again.categories.columns, data.categories.columns);
  EXPECT_TRUE(std::isnan(numbers(again)[1]));
}

TEST(Csv, RoundTrips) {
  const auto path =
      std::filesystem::temp_directory_path() / ("tutti-csv-" + std::to_string(::getpid()));
  const DataSet data = parse_csv("1,0.1,1e-30\n2,16777217,-0\n", "f");
  write_csv(path, data);
  const DataSet again = read_csv(path);
  EXPECT_EQ(again.labels, data.labels);
  EXPECT_EQ(numbers(again), numbers(data));
  std::filesystem::remove(path);
  EXPECT_THROW(read_csv(path), IoError);
}

}  // namespace
}  // namespace tutti::learn
