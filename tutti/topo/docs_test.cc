// Every example in docs/formats/topology.md is what the parsers take.
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <string>

#include "tutti/topo/layout.h"
#include "tutti/topo/machine.h"

namespace tutti::topo {
namespace {

void read(const std::string& example, std::map<std::string, int>* counts) {
  if (example.starts_with("tutti machine")) {
    const Machine machine = parse_machine(example);
    EXPECT_EQ(parse_machine(to_text(machine)), machine);
    ++(*counts)["machine"];
  } else if (example.starts_with("tutti layout")) {
    const Layout layout = parse_layout(example);
    EXPECT_EQ(parse_layout(to_text(layout)), layout);
    EXPECT_EQ(shape_of(make_grid(layout, {.by_socket = true})), "2x2x4x1x1");
    ++(*counts)["layout"];
  } else if (example.starts_with("tutti grid")) {
    const Grid grid = parse_grid(example);
    EXPECT_EQ(to_text(parse_grid(to_text(grid))), to_text(grid));
    ++(*counts)["grid"];
  } else {
    ADD_FAILURE() << "not an example of any form:\n" << example;
  }
}

TEST(Docs, EveryExampleIsRead) {
  std::ifstream page(TUTTI_TOPOLOGY_PAGE);
  ASSERT_TRUE(page) << TUTTI_TOPOLOGY_PAGE;
  std::map<std::string, int> counts;
  std::string example;
  bool is_inside = false;
  for (std::string line; std::getline(page, line);) {
    if (line.starts_with("```")) {
      if (is_inside) read(example, &counts);
      example.clear();
      is_inside = !is_inside;
    } else if (is_inside) {
      example += line + "\n";
    }
  }
  EXPECT_EQ(counts, (std::map<std::string, int>{{"grid", 2}, {"layout", 1}, {"machine", 2}}));
}

}  // namespace
}  // namespace tutti::topo
