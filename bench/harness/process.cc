#include "bench/harness/process.h"

#include <deque>
#include <fstream>

namespace tutti::bench {

std::string last_lines(const std::filesystem::path& file, int lines) {
  std::ifstream stream(file);
  std::deque<std::string> last;
  for (std::string line; std::getline(stream, line);) {
    last.push_back(line);
    if (last.size() > static_cast<std::size_t>(lines)) last.pop_front();
  }
  std::string text;
  for (const std::string& line : last) text += "    " + line + "\n";
  return text;
}

}  // namespace tutti::bench
