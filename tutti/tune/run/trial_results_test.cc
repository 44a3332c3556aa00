#include "tutti/tune/run/trial_results.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>

namespace tutti::tune {
namespace {

using testing::ElementsAre;

class TrialResultsTest : public testing::Test {
 protected:
  TrialResultsTest() {
    std::string name = testing::TempDir() + "/tutti_results_XXXXXX";
    folder_ = mkdtemp(name.data());
  }
  ~TrialResultsTest() override { std::filesystem::remove_all(folder_); }

  void append(const std::string& file, const std::string& text) {
    std::filesystem::create_directories((folder_ / file).parent_path());
    std::ofstream(folder_ / file, std::ios::app) << text;
  }
  static std::vector<double> values(const std::vector<Report>& reports) {
    std::vector<double> values;
    for (const Report& report : reports) values.push_back(report.value);
    return values;
  }

  std::filesystem::path folder_;
};

TEST_F(TrialResultsTest, ReadsJsonLinesAsTheyGrow) {
  TrialResults results(folder_, {"loss", "size"});
  EXPECT_TRUE(results.poll().empty());
  append("results.jsonl", "{\"step\": 1, \"loss\": 0.5}\n{\"step\": 2, \"lo");
  EXPECT_THAT(values(results.poll()), ElementsAre(0.5));
  append("results.jsonl", "ss\": 0.25, \"size\": 7}\nnot json\n");
  const std::vector<Report> reports = results.poll();
  EXPECT_THAT(values(reports), ElementsAre(0.25));
  EXPECT_EQ(reports[0].step, 2);
  EXPECT_THAT(*results.final_values(), ElementsAre(0.25, 7));
}

TEST_F(TrialResultsTest, FindsMetricsInOutput) {
  TrialResults results(folder_, {"loss"});
  append("output.log",
         "epoch 1\nepoch: 2 train_loss=9 loss=0.5 acc=0.1\nEpoch 3, loss: 2.5e-1\n{\"loss\": "
         "0.125, \"epoch\": 9}\nmy loss is 3\n");
  const std::vector<Report> reports = results.poll();
  EXPECT_THAT(values(reports), ElementsAre(0.5, 0.25, 0.125));
  EXPECT_EQ(reports[0].step, 2);
  EXPECT_EQ(reports[1].step, 3) << "no step in the line: the next one";
  EXPECT_EQ(reports[2].step, 9);
}

TEST_F(TrialResultsTest, ReadsAListThatIsReplaced) {
  TrialResults results(folder_, {"loss"});
  const auto replace = [&](const char* text) {
    std::ofstream(folder_ / "val_dict_list.json") << text;
  };
  replace("[{\"step\": 1, \"loss\": 3}]");
  EXPECT_THAT(values(results.poll()), ElementsAre(3));
  replace("[{\"step\": 1, \"loss\": 3}, {\"st");
  EXPECT_TRUE(results.poll().empty());
  replace("[{\"step\": 1, \"loss\": 3}, {\"step\": 2, \"loss\": null}]");
  const std::vector<Report> reports = results.poll();
  ASSERT_EQ(reports.size(), 1u);
  EXPECT_TRUE(std::isnan(reports[0].value));
}

TEST_F(TrialResultsTest, ReadsTheRunDirectoryOfATraining) {
  TrialResults results(folder_, {""});
  append("hep-1/config.toml", "case = \"hep\"\n");
  append("hep-1/validation.csv", "step,epoch,auc,loss\n10,1,0.75,0.5\n20,2,0.875,0.25\n");
  EXPECT_THAT(values(results.poll()), ElementsAre(0.75, 0.875));
  EXPECT_EQ(results.run().filename(), "hep-1");
  EXPECT_THAT(*results.final_values(), ElementsAre(0.875));
  append("hep-1/result.json", "{\"auc\": 0.9, \"chosen_by\": \"validation\"}");
  EXPECT_THAT(*results.final_values(), ElementsAre(0.9)) << "of the best weights";
}

TEST_F(TrialResultsTest, MissingMetricIsKnown) {
  TrialResults results(folder_, {"loss", "other"});
  append("results.jsonl", "{\"loss\": 1, \"accuracy\": 2}\n");
  results.poll();
  EXPECT_FALSE(results.final_values());
  EXPECT_THAT(results.seen_metrics(), ElementsAre("accuracy", "loss"));
}

}  // namespace
}  // namespace tutti::tune
