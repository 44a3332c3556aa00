// Study files: SQLite databases with the trials of one or more studies (docs/formats/study.md).
//
// Every change is one transaction that is on the disk when the function returns, so a crash at any moment loses no
// change that was acknowledged. One process writes at a time; others may read meanwhile.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "tutti/tune/history.h"

namespace tutti::tune {

struct StudyRecord {
  std::int64_t id = 0;  // within the file
  std::string name;
  std::vector<Direction> directions;
  std::string settings;  // JSON: algorithm, seed, space, program
  double created = 0;    // Unix time in seconds
};

// The parts of one trial that have changed.
struct TrialChange {
  const Trial* trial = nullptr;    // the trial after the change
  bool has_state = false;          // state, values, constraints, start and end
  std::size_t new_parameters = 0;  // the last ones
  const Report* report = nullptr;
  std::string attribute = {};  // key
  bool is_system_attribute = false;
};

// Functions throw IoError: DDL-10-22 if the disk is full or fails (the file keeps its last state), DDL-10-21 if the
// file is not a study file or damaged. ConfigError DDL-10-20 in a forked process. Thread-safe.
class StudyFile {
 public:
  enum class Access { kRead, kWrite };

  // kWrite creates a missing file and locks it; throws ConfigError (DDL-10-20) if another process writes it. kRead
  // throws IoError (DDL-10-21) if the file does not exist.
  StudyFile(const std::filesystem::path& path, Access access);
  ~StudyFile();
  StudyFile(StudyFile&&) noexcept;

  const std::filesystem::path& path() const;

  std::vector<StudyRecord> studies();
  // Throws ConfigError (DDL-10-23) if the name is taken.
  StudyRecord create(const std::string& name, const std::vector<Direction>& directions,
                     const std::string& settings);
  // Throws ConfigError (DDL-10-24) for an unknown name, with the names in the file.
  StudyRecord find(const std::string& name);
  void remove(const std::string& name);
  History load(const StudyRecord& study);

  // Stores all changes in one transaction.
  void apply(const StudyRecord& study, const std::vector<TrialChange>& changes);

  Attributes attributes(const StudyRecord& study, bool is_system);
  void set_attribute(const StudyRecord& study, bool is_system, const std::string& key,
                     const std::string& json);

 private:
  struct Database;
  std::unique_ptr<Database> database_;
};

}  // namespace tutti::tune
