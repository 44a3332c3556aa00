#include "bench/harness/row.h"

#include <gtest/gtest.h>

#include <fstream>
#include <limits>

#include "tutti/core/error.h"

namespace tutti::bench {
namespace {

using Json = nlohmann::ordered_json;

Row example() {
  return {"allreduce", "tutti", "time",
          0.29,        "us",    {{"ranks", 2}, {"bytes", 1024}, {"memory", "library"}}};
}

class RowFile : public testing::Test {
 protected:
  std::filesystem::path path_ =
      std::filesystem::path(testing::TempDir()) /
      (std::string("rows-") + testing::UnitTest::GetInstance()->current_test_info()->name() +
       ".json");
  RowFile() { std::filesystem::remove(path_); }
  ~RowFile() override { std::filesystem::remove(path_); }

  Json read() const {
    std::ifstream file(path_);
    return Json::parse(file);
  }
};

TEST(Row, IsOneFlatObjectWithTheMachine) {
  Machine machine;
  machine.cpu = "cpu";
  Json json = to_json(example(), machine);
  EXPECT_EQ(json["bench"], "allreduce");
  EXPECT_EQ(json["system"], "tutti");
  EXPECT_EQ(json["metric"], "time");
  EXPECT_EQ(json["value"], 0.29);
  EXPECT_EQ(json["unit"], "us");
  EXPECT_EQ(json["bytes"], 1024);
  EXPECT_EQ(json["memory"], "library");
  EXPECT_EQ(json["machine"]["cpu"], "cpu");
}

TEST(Row, RejectsNonFiniteValuesAndNestedFields) {
  Row row = example();
  row.value = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THROW(to_json(row, {}), ConfigError);
  row = example();
  row.fields["value"] = 3;
  EXPECT_THROW(to_json(row, {}), ConfigError);
  row = example();
  row.fields["nested"] = {1, 2};
  EXPECT_THROW(to_json(row, {}), ConfigError);
}

TEST_F(RowFile, ReplacesOrAppends) {
  std::vector<Row> rows = {example(), example()};
  write_rows(path_, rows, {});
  EXPECT_EQ(read().size(), 2u);
  write_rows(path_, rows, {}, FileMode::kAppend);
  EXPECT_EQ(read().size(), 4u);
  write_rows(path_, rows, {});
  EXPECT_EQ(read().size(), 2u);
}

TEST_F(RowFile, NoRowsIsAnEmptyArray) {
  write_rows(path_, {}, {}, FileMode::kAppend);
  EXPECT_EQ(read(), Json::array());
}

TEST_F(RowFile, OneRowPerLine) {
  std::vector<Row> rows = {example(), example(), example()};
  write_rows(path_, rows, {});
  std::ifstream file(path_);
  int lines = 0;
  for (std::string line; std::getline(file, line);) ++lines;
  EXPECT_EQ(lines, 5);  // each bracket has a separate line
}

TEST_F(RowFile, RefusesToAppendToOtherFiles) {
  std::ofstream(path_) << "not rows";
  EXPECT_THROW(write_rows(path_, {}, {}, FileMode::kAppend), IoError);
}

TEST_F(RowFile, MissingFolderIsAnError) {
  std::vector<Row> rows = {example()};
  EXPECT_THROW(write_rows(path_ / "no" / "such.json", rows, {}), IoError);
}

}  // namespace
}  // namespace tutti::bench
