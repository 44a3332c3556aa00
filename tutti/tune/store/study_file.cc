#include "tutti/tune/store/study_file.h"

#include <SQLiteCpp/SQLiteCpp.h>
#include <fmt/format.h>
#include <sqlite3.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <thread>

#include "tutti/core/clock.h"
#include "tutti/core/error.h"
#include "tutti/core/mutex.h"
#include "tutti/os/file_lock.h"
#include "tutti/tune/store/schema.h"

namespace tutti::tune {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kLockSeconds = 2;  // to wait for the lock of a process that ends
constexpr std::chrono::milliseconds kLockInterval(20);
constexpr int kBusyMilliseconds = 10000;  // readers may hold the file while they copy its log
constexpr std::int64_t kStudyAttribute = -1;

[[noreturn]] void report(const std::filesystem::path& path, const SQLite::Exception& error) {
  switch (error.getErrorCode()) {
    case SQLITE_FULL:
    case SQLITE_IOERR:
    case SQLITE_READONLY:
      throw IoError("DDL-10-22",
                    fmt::format("Cannot write study file {}: {}. Nothing that was stored before is "
                                "lost. Free space on the disk, then continue the study.",
                                path.string(), error.what()));
    default:
      throw IoError("DDL-10-21",
                    fmt::format("Cannot read study file {}: {}. Check the path, or restore a copy.",
                                path.string(), error.what()));
  }
}

std::string directions_json(const std::vector<Direction>& directions) {
  Json json = Json::array();
  for (const Direction direction : directions) {
    json.push_back(direction == Direction::kMinimize ? "minimize" : "maximize");
  }
  return json.dump();
}

std::vector<Direction> directions_from(const std::string& text) {
  std::vector<Direction> directions;
  for (const Json& one : Json::parse(text)) {
    directions.push_back(one == "maximize" ? Direction::kMaximize : Direction::kMinimize);
  }
  return directions;
}

void bind_finite(SQLite::Statement& statement, int index, double value) {
  if (std::isnan(value)) {
    statement.bind(index);
  } else {
    statement.bind(index, value);
  }
}

double number_or_nan(const SQLite::Column& column) {
  return column.isNull() ? std::numeric_limits<double>::quiet_NaN() : column.getDouble();
}

}  // namespace

struct StudyFile::Database {
  Database(std::filesystem::path file, Access access)
      : path(std::move(file)), lock(lock_for(path, access)), db(open(path, access)) {}

  static std::unique_ptr<os::FileLock> lock_for(const std::filesystem::path& path, Access access) {
    if (access == Access::kRead) return nullptr;
    auto lock = std::make_unique<os::FileLock>(path.string() + ".lock");
    // A child of a killed process holds its lock until it has executed its program.
    const Stopwatch watch;
    while (!lock->try_lock()) {
      if (watch.seconds() < kLockSeconds) {
        std::this_thread::sleep_for(kLockInterval);
        continue;
      }
      throw ConfigError("DDL-10-20",
                        fmt::format("Another process is running studies in {}. Wait until it has "
                                    "ended, stop it, or use another file.",
                                    path.string()));
    }
    return lock;
  }

  static SQLite::Database open(const std::filesystem::path& path, Access access) {
    const bool writes = access == Access::kWrite;
    SQLite::Database db(
        path.string(),
        writes ? SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE : SQLite::OPEN_READONLY,
        kBusyMilliseconds);
    const bool is_empty = db.execAndGet("SELECT count(*) FROM sqlite_master").getInt() == 0;
    if (writes && is_empty) {
      SQLite::Transaction transaction(db);
      db.exec(kCreateTables);
      db.exec(fmt::format("PRAGMA application_id = {}", kApplicationId));
      db.exec(fmt::format("PRAGMA user_version = {}", kSchemaVersion));
      transaction.commit();
    }
    check_version(path, db);
    if (writes) {
      db.exec("PRAGMA journal_mode = WAL");
      db.exec("PRAGMA synchronous = FULL");
      db.exec("PRAGMA foreign_keys = ON");
    }
    return db;
  }

  static void check_version(const std::filesystem::path& path, SQLite::Database& db) {
    const int version = db.execAndGet("PRAGMA user_version").getInt();
    if (db.execAndGet("PRAGMA application_id").getInt() != kApplicationId) {
      throw IoError("DDL-10-21",
                    fmt::format("{} is a database, but not a study file. Studies of Optuna "
                                "can be imported: tutti.tune.import_optuna.",
                                path.string()));
    }
    if (version > kSchemaVersion) {
      throw IoError("DDL-10-21", fmt::format("Study file {} has version {}, newer than {}. Update "
                                             "Tutti.",
                                             path.string(), version, kSchemaVersion));
    }
  }

  // A connection must not be used by two processes.
  void check_process() const {
    if (getpid() == process) return;
    throw ConfigError(
        "DDL-10-20",
        fmt::format(
            "This process was forked from the one that runs studies in {}. Ask for trials and "
            "report results in the parent process.",
            path.string()));
  }

  // Prepared once, then reused. Valid until the next call with the same text.
  SQLite::Statement& statement(const char* sql) {
    const auto [at, is_new] = statements.try_emplace(sql);
    if (is_new) at->second = std::make_unique<SQLite::Statement>(db, sql);
    at->second->reset();
    at->second->clearBindings();
    return *at->second;
  }

  std::int64_t distribution_id(const Distribution& distribution) {
    const std::string json = to_json(distribution);
    const auto known = distribution_ids.find(json);
    if (known != distribution_ids.end()) return known->second;
    SQLite::Statement& insert = statement("INSERT OR IGNORE INTO distributions (json) VALUES (?)");
    insert.bind(1, json);
    insert.exec();
    SQLite::Statement& select = statement("SELECT id FROM distributions WHERE json = ?");
    select.bind(1, json);
    select.executeStep();
    return select.getColumn(0).getInt64();
  }

  void store_state(std::int64_t study, const Trial& trial) {
    SQLite::Statement& row = statement(
        "INSERT INTO trials (study, number, state, started, ended) VALUES (?, ?, ?, ?, ?) ON "
        "CONFLICT DO UPDATE SET "
        "state = excluded.state, started = excluded.started, ended = excluded.ended");
    row.bind(1, study);
    row.bind(2, trial.number);
    row.bind(3, static_cast<int>(trial.state));
    row.bind(4, trial.started);
    row.bind(5, trial.ended);
    row.exec();
    store_results(study, trial.number, "value", trial.values);
    store_results(study, trial.number, "constraint", trial.constraints);
  }

  void store_results(std::int64_t study, std::int64_t number, const char* kind,
                     const std::vector<double>& values) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      SQLite::Statement& row = statement("INSERT OR REPLACE INTO results VALUES (?, ?, ?, ?, ?)");
      row.bind(1, study);
      row.bind(2, number);
      row.bind(3, kind);
      row.bind(4, static_cast<std::int64_t>(i));
      row.bind(5, values[i]);
      row.exec();
    }
  }

  void store_parameters(std::int64_t study, const Trial& trial, std::size_t count) {
    for (std::size_t i = trial.parameters.size() - count; i < trial.parameters.size(); ++i) {
      const TrialParameter& parameter = trial.parameters[i];
      const std::int64_t distribution = distribution_id(*parameter.distribution);
      SQLite::Statement& row =
          statement("INSERT OR REPLACE INTO parameters VALUES (?, ?, ?, ?, ?, ?)");
      row.bind(1, study);
      row.bind(2, trial.number);
      row.bind(3, static_cast<std::int64_t>(i));
      row.bind(4, parameter.name);
      row.bind(5, parameter.value);
      row.bind(6, distribution);
      row.exec();
    }
  }

  void store_report(std::int64_t study, std::int64_t number, const Report& report) {
    SQLite::Statement& row = statement("INSERT OR REPLACE INTO reports VALUES (?, ?, ?, ?)");
    row.bind(1, study);
    row.bind(2, number);
    row.bind(3, report.step);
    bind_finite(row, 4, report.value);
    row.exec();
  }

  void store_attribute(std::int64_t study, std::int64_t number, bool is_system,
                       const std::string& key, const std::string& json) {
    SQLite::Statement& row = statement("INSERT OR REPLACE INTO attributes VALUES (?, ?, ?, ?, ?)");
    row.bind(1, study);
    row.bind(2, number);
    row.bind(3, is_system ? 1 : 0);
    row.bind(4, key);
    row.bind(5, json);
    row.exec();
  }

  void store(std::int64_t study, const TrialChange& change) {
    const Trial& trial = *change.trial;
    if (change.has_state) store_state(study, trial);
    store_parameters(study, trial, change.new_parameters);
    if (change.report) store_report(study, trial.number, *change.report);
    if (change.attribute.empty()) return;
    const Attributes& attributes =
        change.is_system_attribute ? trial.system_attributes : trial.user_attributes;
    store_attribute(study, trial.number, change.is_system_attribute, change.attribute,
                    attributes.at(change.attribute));
  }

  Mutex mutex;  // held while a statement is in use
  pid_t process = getpid();
  std::filesystem::path path;
  std::unique_ptr<os::FileLock> lock;
  SQLite::Database db;
  std::map<std::string, std::unique_ptr<SQLite::Statement>> statements;
  std::map<std::string, std::int64_t> distribution_ids;  // of committed rows
};

StudyFile::StudyFile(const std::filesystem::path& path, Access access) {
  try {
    database_ = std::make_unique<Database>(path, access);
  } catch (const SQLite::Exception& error) {
    report(path, error);
  }
}

StudyFile::~StudyFile() = default;
StudyFile::StudyFile(StudyFile&&) noexcept = default;

const std::filesystem::path& StudyFile::path() const {
  return database_->path;
}

std::vector<StudyRecord> StudyFile::studies() try {
  const MutexLock lock(database_->mutex);
  database_->check_process();
  std::vector<StudyRecord> records;
  SQLite::Statement& row = database_->statement(
      "SELECT id, name, directions, settings, created FROM studies ORDER BY id");
  while (row.executeStep()) {
    records.push_back({row.getColumn(0).getInt64(), row.getColumn(1).getString(),
                       directions_from(row.getColumn(2).getString()), row.getColumn(3).getString(),
                       row.getColumn(4).getDouble()});
  }
  return records;
} catch (const SQLite::Exception& error) {
  report(path(), error);
}

StudyRecord StudyFile::create(const std::string& name, const std::vector<Direction>& directions,
                              const std::string& settings) try {
  for (const StudyRecord& record : studies()) {
    if (record.name == name) {
      throw ConfigError(
          "DDL-10-23",
          fmt::format("{} has a study '{}' already. Continue it with --resume, or choose "
                      "another name.",
                      path().string(), name));
    }
  }
  {
    const MutexLock lock(database_->mutex);
    database_->check_process();
    SQLite::Statement& row = database_->statement(
        "INSERT INTO studies (name, directions, settings, created) VALUES (?, ?, ?, ?)");
    row.bind(1, name);
    row.bind(2, directions_json(directions));
    row.bind(3, settings);
    row.bind(4, static_cast<double>(wall_ns()) * 1e-9);
    row.exec();
  }
  return find(name);
} catch (const SQLite::Exception& error) {
  report(path(), error);
}

StudyRecord StudyFile::find(const std::string& name) {
  std::string names;
  for (StudyRecord& record : studies()) {
    if (record.name == name) return std::move(record);
    names += (names.empty() ? "" : ", ") + record.name;
  }
  throw ConfigError("DDL-10-24",
                    fmt::format("{} has no study '{}'. Its studies: {}.", path().string(), name,
                                names.empty() ? "none" : names));
}

void StudyFile::remove(const std::string& name) try {
  const StudyRecord record = find(name);
  const MutexLock lock(database_->mutex);
  database_->check_process();
  SQLite::Statement& row = database_->statement("DELETE FROM studies WHERE id = ?");
  row.bind(1, record.id);
  row.exec();
} catch (const SQLite::Exception& error) {
  report(path(), error);
}

History StudyFile::load(const StudyRecord& study) try {
  const MutexLock lock(database_->mutex);
  database_->check_process();
  History history(study.directions);
  const auto rows = [&](const char* sql) -> SQLite::Statement& {
    SQLite::Statement& statement = database_->statement(sql);
    statement.bind(1, study.id);
    return statement;
  };
  SQLite::Statement& trials =
      rows("SELECT state, started, ended FROM trials WHERE study = ? ORDER BY number");
  while (trials.executeStep()) {
    Trial trial;
    trial.state = static_cast<TrialState>(trials.getColumn(0).getInt());
    trial.started = trials.getColumn(1).getDouble();
    trial.ended = trials.getColumn(2).getDouble();
    history.add(std::move(trial));
  }
  SQLite::Statement& parameters = rows(
      "SELECT number, name, value, json FROM parameters JOIN distributions ON id = distribution "
      "WHERE study = ? "
      "ORDER BY number, position");
  std::map<std::string, Distribution> distributions;
  while (parameters.executeStep()) {
    const std::string json = parameters.getColumn(3).getString();
    const auto [at, is_new] = distributions.try_emplace(json);
    if (is_new) at->second = distribution_from_json(json);
    history.set_parameter(parameters.getColumn(0).getInt64(), parameters.getColumn(1).getString(),
                          at->second, parameters.getColumn(2).getDouble());
  }
  SQLite::Statement& results = rows(
      "SELECT number, kind, value FROM results WHERE study = ? ORDER BY number, kind, position");
  while (results.executeStep()) {
    Trial& trial = history.details(results.getColumn(0).getInt64());
    const bool is_value = results.getColumn(1).getString() == "value";
    (is_value ? trial.values : trial.constraints).push_back(results.getColumn(2).getDouble());
  }
  SQLite::Statement& reports =
      rows("SELECT number, step, value FROM reports WHERE study = ? ORDER BY number, step");
  while (reports.executeStep()) {
    history.report(reports.getColumn(0).getInt64(),
                   {reports.getColumn(1).getInt64(), number_or_nan(reports.getColumn(2))});
  }
  SQLite::Statement& attributes =
      rows("SELECT number, is_system, key, json FROM attributes WHERE study = ? AND number >= 0");
  while (attributes.executeStep()) {
    Trial& trial = history.details(attributes.getColumn(0).getInt64());
    Attributes& to =
        attributes.getColumn(1).getInt() ? trial.system_attributes : trial.user_attributes;
    to[attributes.getColumn(2).getString()] = attributes.getColumn(3).getString();
  }
  return history;
} catch (const SQLite::Exception& error) {
  report(path(), error);
}

void StudyFile::apply(const StudyRecord& study, const std::vector<TrialChange>& changes) try {
  const MutexLock lock(database_->mutex);
  database_->check_process();
  SQLite::Transaction transaction(database_->db);
  for (const TrialChange& change : changes) database_->store(study.id, change);
  transaction.commit();
  for (const TrialChange& change : changes) {
    const std::vector<TrialParameter>& parameters = change.trial->parameters;
    for (std::size_t i = parameters.size() - change.new_parameters; i < parameters.size(); ++i) {
      const std::string json = to_json(*parameters[i].distribution);
      if (!database_->distribution_ids.contains(json)) {
        database_->distribution_ids[json] = database_->distribution_id(*parameters[i].distribution);
      }
    }
  }
} catch (const SQLite::Exception& error) {
  report(path(), error);
}

Attributes StudyFile::attributes(const StudyRecord& study, bool is_system) try {
  const MutexLock lock(database_->mutex);
  database_->check_process();
  Attributes attributes;
  SQLite::Statement& row = database_->statement(
      "SELECT key, json FROM attributes WHERE study = ? AND number = ? AND is_system = ?");
  row.bind(1, study.id);
  row.bind(2, kStudyAttribute);
  row.bind(3, is_system ? 1 : 0);
  while (row.executeStep()) attributes[row.getColumn(0).getString()] = row.getColumn(1).getString();
  return attributes;
} catch (const SQLite::Exception& error) {
  report(path(), error);
}

void StudyFile::set_attribute(const StudyRecord& study, bool is_system, const std::string& key,
                              const std::string& json) try {
  const MutexLock lock(database_->mutex);
  database_->check_process();
  database_->store_attribute(study.id, kStudyAttribute, is_system, key, json);
} catch (const SQLite::Exception& error) {
  report(path(), error);
}

}  // namespace tutti::tune
