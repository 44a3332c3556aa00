#include "bench/harness/row_file.h"

#include <CLI/CLI.hpp>

#include "bench/harness/row.h"

namespace tutti::bench {

void RowFile::declare(CLI::App& app) {
  app.add_option("--json", path_, "JSON file for the rows");
  app.add_flag("--append", keeps_rows_, "keep the existing rows of the JSON file");
}

void RowFile::write(std::span<const Row> rows, const Machine& machine) const {
  if (path_.empty()) return;
  write_rows(path_, rows, machine, keeps_rows_ ? FileMode::kAppend : FileMode::kReplace);
}

}  // namespace tutti::bench
