// Import and export of studies of Optuna: its SQLite databases, as of Optuna 3.0.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "tutti/tune/history.h"

namespace tutti::tune {

// A study outside of a study file.
struct PortableStudy {
  std::string name;
  std::vector<Direction> directions;
  std::vector<Trial> trials;  // in the order of their numbers
  Attributes user_attributes, system_attributes;
};

// Versions of the tables: Optuna reads only its own.
enum class OptunaSchema {
  kVersion30,  // Optuna 3.0 and 3.1
  kVersion32,  // Optuna 3.2 and newer
};

// Reads all studies. Trials that were running become failed. Throws IoError (DDL-10-28) if the file is not a database
// of Optuna 3.0 or newer.
std::vector<PortableStudy> read_optuna(const std::filesystem::path& path);

// Adds studies to a database of Optuna, which is created if missing. Either all or none are added. Throws IoError
// (DDL-10-28) if the file is another database or has a study of the same name, or cannot be written.
void write_optuna(const std::filesystem::path& path, const std::vector<PortableStudy>& studies,
                  OptunaSchema schema = OptunaSchema::kVersion32);

}  // namespace tutti::tune
