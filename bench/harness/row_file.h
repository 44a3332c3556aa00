// The file that a benchmark writes its rows to, and the part of its command line that says so.
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
  // Must stay while the command line is read.
  void declare(CLI::App& app);
  // Does nothing when no file was asked for. Throws as write_rows does.
  void write(std::span<const Row> rows, const Machine& machine) const;

 private:
  std::string path_;
  bool keeps_rows_ = false;  // that the file has
};

}  // namespace tutti::bench
