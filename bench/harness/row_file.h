// Output file for the rows of a benchmark, and its part of the command line.
#pragma once

#include <span>
#include <string>

namespace CLI {
class App;
}

namespace tutti::bench {

struct Machine;
struct Row;

class RowFile {
 public:
  // Must stay valid while the command line is read.
  void declare(CLI::App& app);
  // No effect if no file was requested. Throws as write_rows does.
  void write(std::span<const Row> rows, const Machine& machine) const;

 private:
  std::string path_;
  bool keeps_rows_ = false;  // of an existing file
};

}  // namespace tutti::bench
