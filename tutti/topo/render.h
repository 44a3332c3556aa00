// Human-readable output of machines, layouts and grids, for `tutti info` and the launcher. Lines end with a newline.
#pragma once

#include <string>

#include "tutti/topo/grid.h"
#include "tutti/topo/layout.h"
#include "tutti/topo/machine.h"

namespace tutti::topo {

std::string render(const Machine& machine);
std::string render(const Layout& layout);
// One line per dimension: name, size, transport between its ranks, cost of a message.
std::string render(const Grid& grid);

}  // namespace tutti::topo
