#include "bench/tune/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <numeric>
#include <set>

#include "bench/harness/table.h"
#include "tutti/core/error.h"

namespace tutti::bench {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kTutti = "tutti";

double mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

// "tutti auto": a column of the table.
std::string column_of(const Regret& regret) {
  return regret.system + " " + regret.algorithm;
}

std::map<std::string, std::vector<double>> regrets_by_column(const TuneResults& results) {
  std::map<std::string, std::vector<double>> columns;
  for (const Regret& regret : results.regrets) {
    if (regret.algorithm != "random")
      columns[column_of(regret)].push_back(normalized_regret(results, regret));
  }
  return columns;
}

std::string suggestions_text(const TuneResults& results) {
  Table table({"one suggestion, 8 parameters", "trials", "tutti", "other", "ratio"});
  for (const Suggestion& own : results.suggestions) {
    if (own.system != kTutti) continue;
    bool has_other = false;
    for (const Suggestion& other : results.suggestions) {
      if (other.system == kTutti || other.algorithm != own.algorithm || other.trials != own.trials)
        continue;
      has_other = true;
      table.add({own.algorithm, std::to_string(own.trials), format_seconds(own.seconds),
                 fmt::format("{} {}", format_seconds(other.seconds), other.system),
                 format_digits(other.seconds / own.seconds) + "x"});
    }
    if (!has_other)
      table.add({own.algorithm, std::to_string(own.trials), format_seconds(own.seconds)});
  }
  return table.text();
}

std::string regrets_text(const TuneResults& results) {
  const auto columns = regrets_by_column(results);
  std::vector<std::string> header = {"regret / that of random search"}, problems;
  for (const auto& [column, values] : columns) header.push_back(column);
  for (const Regret& regret : results.regrets) {
    if (std::find(problems.begin(), problems.end(), regret.problem) == problems.end())
      problems.push_back(regret.problem);
  }
  Table table(header);
  for (const std::string& problem : problems) {
    std::vector<std::string> cells = {problem};
    for (const auto& [column, values] : columns) {
      const auto at =
          std::find_if(results.regrets.begin(), results.regrets.end(), [&](const Regret& regret) {
            return regret.problem == problem && column_of(regret) == column;
          });
      cells.push_back(at == results.regrets.end() ? ""
                                                  : format_digits(normalized_regret(results, *at)));
    }
    table.add(std::move(cells));
  }
  std::vector<std::string> means = {"mean"};
  for (const auto& [column, values] : columns) means.push_back(format_digits(mean(values)));
  table.add_gap();
  table.add(std::move(means));
  return table.text();
}

void add_line(const Json& line, TuneResults& results) {
  const std::string metric = line.at("metric");
  if (metric == "suggestion") {
    results.suggestions.push_back({line.at("system"), line.at("algorithm"), line.at("trials"),
                                   line.at("seconds"), line.at("samples")});
  } else if (metric == "regret") {
    results.regrets.push_back(
        {line.at("system"), line.at("algorithm"), line.at("problem"), line.at("values")});
  } else {
    results.notes.push_back(fmt::format("{}: {}", line.at("system").get<std::string>(),
                                        line.at("text").get<std::string>()));
  }
}

}  // namespace

TuneResults read_results(const std::filesystem::path& file) {
  TuneResults results;
  std::ifstream stream(file);
  for (std::string line; std::getline(stream, line) && !stream.eof();) {
    try {
      add_line(Json::parse(line), results);
    } catch (const Json::exception&) {
      throw IoError("DDL-8-76",
                    fmt::format("The worker of bench tune wrote '{}', not a result.", line));
    }
  }
  return results;
}

// Random search of every library draws from the same distribution, so the mean over all of them is the reference.
double normalized_regret(const TuneResults& results, const Regret& regret) {
  std::vector<double> random;
  for (const Regret& other : results.regrets) {
    if (other.problem == regret.problem && other.algorithm == "random") {
      random.insert(random.end(), other.values.begin(), other.values.end());
    }
  }
  const double reference = random.empty() ? 1 : mean(random);
  return reference > 0 ? mean(regret.values) / reference : 0;
}

std::string text_of(const TuneResults& results) {
  std::string text = suggestions_text(results) + "\n" + regrets_text(results);
  for (const std::string& note : results.notes) text += note + "\n";
  return text;
}

std::vector<Row> rows_of(const TuneResults& results) {
  std::vector<Row> rows;
  for (const Suggestion& one : results.suggestions) {
    rows.push_back(
        {"tune",
         one.system,
         "suggestion_cpu_time",
         one.seconds * 1e3,
         "ms",
         {{"algorithm", one.algorithm}, {"trials", one.trials}, {"samples", one.samples}}});
  }
  for (const Regret& one : results.regrets) {
    rows.push_back(
        {"tune",
         one.system,
         "normalized_regret",
         normalized_regret(results, one),
         "x",
         {{"algorithm", one.algorithm}, {"problem", one.problem}, {"samples", one.values.size()}}});
  }
  for (const auto& [column, values] : regrets_by_column(results)) {
    const std::size_t space = column.rfind(' ');
    rows.push_back({"tune",
                    column.substr(0, space),
                    "mean_normalized_regret",
                    mean(values),
                    "x",
                    {{"algorithm", column.substr(space + 1)}, {"samples", values.size()}}});
  }
  return rows;
}

}  // namespace tutti::bench
