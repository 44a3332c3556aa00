// Parses every example of docs/formats/topology.md.
#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "tutti/topo/machine.h"

namespace tutti::topo {
namespace {

TEST(Docs, EveryExampleIsRead) {
  std::ifstream page(TUTTI_TOPOLOGY_PAGE);
  ASSERT_TRUE(page) << TUTTI_TOPOLOGY_PAGE;
  int count = 0;
  std::string example;
  bool is_inside = false;
  for (std::string line; std::getline(page, line);) {
    if (line.starts_with("```")) {
      if (is_inside) {
        const Machine machine = parse_machine(example);
        EXPECT_EQ(parse_machine(to_text(machine)), machine);
        ++count;
      }
      example.clear();
      is_inside = !is_inside;
    } else if (is_inside) {
      example += line + "\n";
    }
  }
  EXPECT_EQ(count, 2);
}

}  // namespace
}  // namespace tutti::topo
