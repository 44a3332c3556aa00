#include "tutti/tune/store/optuna_file.h"

#include <SQLiteCpp/SQLiteCpp.h>
#include <fmt/format.h>
#include <time.h>

#include <array>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "tutti/core/error.h"
#include "tutti/tune/store/optuna_schema.h"

namespace tutti::tune {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr const char* kConstraints = "constraints";
// By TrialState.
constexpr std::array<const char*, 5> kStates = {"RUNNING", "COMPLETE", "PRUNED", "FAIL", "WAITING"};

[[noreturn]] void reject(const std::filesystem::path& path, const std::string& reason) {
  throw IoError("DDL-10-28", fmt::format("{}: {}", path.string(), reason));
}

// Optuna stores local time without a zone: 2030-01-31 12:00:00.000000.
double seconds_of(const std::string& text) {
  tm parts = {};
  const char* rest = strptime(text.c_str(), "%Y-%m-%d %H:%M:%S", &parts);
  if (!rest) return 0;
  parts.tm_isdst = -1;
  const double fraction = *rest == '.' ? std::strtod(rest, nullptr) : 0;
  return static_cast<double>(mktime(&parts)) + fraction;
}

std::string text_of(double seconds) {
  // Exact and to the nearest even, as in Python.
  const auto micros = std::llrint(static_cast<long double>(seconds) * 1e6L);
  const auto whole = static_cast<time_t>(micros / 1000000);
  tm parts = {};
  localtime_r(&whole, &parts);
  return fmt::format("{:04}-{:02}-{:02} {:02}:{:02}:{:02}.{:06}", parts.tm_year + 1900,
                     parts.tm_mon + 1, parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec,
                     micros % 1000000);
}

double number_of(const SQLite::Column& value, const std::string& type) {
  if (type == "INF_POS") return kInfinity;
  if (type == "INF_NEG") return -kInfinity;
  return value.isNull() ? std::numeric_limits<double>::quiet_NaN() : value.getDouble();
}

const char* type_of(double value) {
  if (std::isnan(value)) return "NAN";
  return std::isfinite(value) ? "FINITE" : value > 0 ? "INF_POS" : "INF_NEG";
}

void bind_number(SQLite::Statement& row, int index, double value) {
  if (std::isfinite(value)) {
    row.bind(index, value);
  } else {
    row.bind(index);
  }
}

void check_version(const std::filesystem::path& path, SQLite::Database& db) {
  if (!db.tableExists("alembic_version"))
    reject(path, "not a study of Optuna. Pass the file of its SQLite storage.");
  const std::string version = db.execAndGet("SELECT version_num FROM alembic_version").getString();
  if (version != kVersion30 && version != kVersion32) {
    reject(path, fmt::format("the tables have version {}; versions {} and {} can be used. Run: "
                             "optuna storage upgrade "
                             "--storage sqlite:///{}",
                             version, kVersion30, kVersion32, path.string()));
  }
}

class Reader {
 public:
  explicit Reader(SQLite::Database& db) : db_(db) {}

  PortableStudy study(std::int64_t id, const std::string& name) {
    PortableStudy study{
        name, {}, {}, attributes("study", "user", id), attributes("study", "system", id)};
    SQLite::Statement directions(
        db_, "SELECT direction FROM study_directions WHERE study_id = ? ORDER BY objective");
    directions.bind(1, id);
    while (directions.executeStep()) {
      const bool is_maximized = directions.getColumn(0).getString() == "MAXIMIZE";
      study.directions.push_back(is_maximized ? Direction::kMaximize : Direction::kMinimize);
    }
    SQLite::Statement row(
        db_,
        "SELECT trial_id, state, datetime_start, datetime_complete FROM trials WHERE study_id = ? "
        "ORDER BY number, trial_id");
    row.bind(1, id);
    while (row.executeStep())
      study.trials.push_back(trial(row, static_cast<std::int64_t>(study.trials.size())));
    return study;
  }

 private:
  Trial trial(SQLite::Statement& row, std::int64_t number) {
    const std::int64_t id = row.getColumn(0).getInt64();
    Trial trial;
    trial.number = number;
    const std::string state = row.getColumn(1).getString();
    for (std::size_t i = 0; i < kStates.size(); ++i) {
      if (state == kStates[i]) trial.state = static_cast<TrialState>(i);
    }
    if (!row.getColumn(2).isNull()) trial.started = seconds_of(row.getColumn(2).getString());
    if (!row.getColumn(3).isNull()) trial.ended = seconds_of(row.getColumn(3).getString());
    if (trial.state == TrialState::kRunning)
      trial.state = TrialState::kFailed;  // its process is not ours
    if (is_finished(trial.state) && trial.ended == 0) trial.ended = trial.started;
    read_parameters(trial, id);
    read_results(trial, id);
    trial.user_attributes = attributes("trial", "user", id);
    trial.system_attributes = attributes("trial", "system", id);
    take_constraints(trial);
    return trial;
  }

  void read_parameters(Trial& trial, std::int64_t id) {
    SQLite::Statement row(db_,
                          "SELECT param_name, param_value, distribution_json FROM trial_params "
                          "WHERE trial_id = ? ORDER BY param_id");
    row.bind(1, id);
    while (row.executeStep()) {
      auto distribution = std::make_shared<const Distribution>(
          distribution_from_json(row.getColumn(2).getString()));
      trial.parameters.push_back(
          {row.getColumn(0).getString(), std::move(distribution), row.getColumn(1).getDouble()});
    }
  }

  void read_results(Trial& trial, std::int64_t id) {
    SQLite::Statement value(
        db_, "SELECT value, value_type FROM trial_values WHERE trial_id = ? ORDER BY objective");
    value.bind(1, id);
    while (value.executeStep())
      trial.values.push_back(number_of(value.getColumn(0), value.getColumn(1).getString()));
    SQLite::Statement report(
        db_,
        "SELECT step, intermediate_value, intermediate_value_type FROM trial_intermediate_values "
        "WHERE trial_id = ? ORDER BY step");
    report.bind(1, id);
    while (report.executeStep()) {
      trial.reports.push_back({report.getColumn(0).getInt64(),
                               number_of(report.getColumn(1), report.getColumn(2).getString())});
    }
  }

  static void take_constraints(Trial& trial) {
    const auto at = trial.system_attributes.find(kConstraints);
    if (at == trial.system_attributes.end()) return;
    const Json json = Json::parse(at->second, nullptr, false);
    const bool are_numbers =
        json.is_array() &&
        std::all_of(json.begin(), json.end(), [](const Json& one) { return one.is_number(); });
    if (!are_numbers) return;
    for (const Json& one : json) trial.constraints.push_back(one.get<double>());
    trial.system_attributes.erase(at);
  }

  Attributes attributes(const std::string& owner, const std::string& kind, std::int64_t id) {
    Attributes attributes;
    SQLite::Statement row(
        db_, fmt::format("SELECT \"key\", value_json FROM {0}_{1}_attributes WHERE {0}_id = ?",
                         owner, kind));
    row.bind(1, id);
    while (row.executeStep())
      attributes[row.getColumn(0).getString()] = row.getColumn(1).getString();
    return attributes;
  }

  SQLite::Database& db_;
};

class Writer {
 public:
  explicit Writer(SQLite::Database& db) : db_(db) {}

  void add(const PortableStudy& study) {
    insert("studies (study_name)", study.name);
    const std::int64_t id = db_.getLastInsertRowid();
    std::int64_t objective = 0;
    for (const Direction direction : study.directions) {
      const std::string name = direction == Direction::kMaximize ? "MAXIMIZE" : "MINIMIZE";
      insert("study_directions (study_id, direction, objective)", id, name, objective++);
    }
    add_attributes("study_user_attributes (study_id", id, study.user_attributes);
    add_attributes("study_system_attributes (study_id", id, study.system_attributes);
    for (const Trial& trial : study.trials) add(trial, id);
  }

 private:
  void add(const Trial& trial, std::int64_t study) {
    insert("trials (study_id, number, state)", study, trial.number,
           std::string(kStates[static_cast<std::size_t>(trial.state)]));
    const std::int64_t id = db_.getLastInsertRowid();
    if (trial.started > 0) set_time("datetime_start", id, trial.started);
    if (is_finished(trial.state)) set_time("datetime_complete", id, trial.ended);
    for (const TrialParameter& one : trial.parameters) {
      insert("trial_params (trial_id, param_name, param_value, distribution_json)", id, one.name,
             one.value, to_json(*one.distribution));
    }
    for (std::size_t i = 0; i < trial.values.size(); ++i) {
      insert("trial_values (trial_id, objective, value, value_type)", id,
             static_cast<std::int64_t>(i), trial.values[i], std::string(type_of(trial.values[i])));
    }
    for (const Report& report : trial.reports) {
      insert(
          "trial_intermediate_values (trial_id, step, intermediate_value, intermediate_value_type)",
          id, report.step, report.value, std::string(type_of(report.value)));
    }
    add_attributes("trial_user_attributes (trial_id", id, trial.user_attributes);
    Attributes system = trial.system_attributes;
    if (!trial.constraints.empty()) system[kConstraints] = Json(trial.constraints).dump();
    add_attributes("trial_system_attributes (trial_id", id, system);
  }

  void add_attributes(const std::string& table, std::int64_t id, const Attributes& attributes) {
    for (const auto& [key, json] : attributes)
      insert(table + ", \"key\", value_json)", id, key, json);
  }

  void set_time(const char* column, std::int64_t trial, double seconds) {
    SQLite::Statement row(db_, fmt::format("UPDATE trials SET {} = ? WHERE trial_id = ?", column));
    row.bind(1, text_of(seconds));
    row.bind(2, trial);
    row.exec();
  }

  template <class... Values>
  void insert(const std::string& table, const Values&... values) {
    std::string marks = "?";
    for (std::size_t i = 1; i < sizeof...(values); ++i) marks += ", ?";
    SQLite::Statement row(db_, fmt::format("INSERT INTO {} VALUES ({})", table, marks));
    int index = 0;
    (bind(row, ++index, values), ...);
    row.exec();
  }

  static void bind(SQLite::Statement& row, int index, const std::string& value) {
    row.bind(index, value);
  }
  static void bind(SQLite::Statement& row, int index, std::int64_t value) {
    row.bind(index, value);
  }
  static void bind(SQLite::Statement& row, int index, double value) {
    bind_number(row, index, value);
  }

  SQLite::Database& db_;
};

}  // namespace

std::vector<PortableStudy> read_optuna(const std::filesystem::path& path) try {
  SQLite::Database db(path.string(), SQLite::OPEN_READONLY, kOptunaBusyMilliseconds);
  check_version(path, db);
  std::vector<PortableStudy> studies;
  SQLite::Statement row(db, "SELECT study_id, study_name FROM studies ORDER BY study_id");
  while (row.executeStep()) {
    studies.push_back(Reader(db).study(row.getColumn(0).getInt64(), row.getColumn(1).getString()));
  }
  return studies;
} catch (const SQLite::Exception& error) {
  reject(path, fmt::format("{}. Check that it is the SQLite storage of Optuna.", error.what()));
}

void write_optuna(const std::filesystem::path& path, const std::vector<PortableStudy>& studies,
                  OptunaSchema schema) try {
  SQLite::Database db(path.string(), SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE,
                      kOptunaBusyMilliseconds);
  SQLite::Transaction transaction(db);
  if (db.execAndGet("SELECT count(*) FROM sqlite_master").getInt() == 0) {
    db.exec(kOptunaTables);
    db.exec(schema == OptunaSchema::kVersion30 ? kOptunaVersion30 : kOptunaVersion32);
  }
  check_version(path, db);
  Writer writer(db);
  for (const PortableStudy& study : studies) {
    SQLite::Statement known(db, "SELECT 1 FROM studies WHERE study_name = ?");
    known.bind(1, study.name);
    if (known.executeStep())
      reject(path, fmt::format("a study '{}' exists. Choose another name.", study.name));
    writer.add(study);
  }
  transaction.commit();
} catch (const SQLite::Exception& error) {
  reject(path, fmt::format("{}. Nothing was written. Check the path and the space on the disk.",
                           error.what()));
}

}  // namespace tutti::tune
