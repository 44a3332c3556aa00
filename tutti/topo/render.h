// Machines, layouts and grids for people: what `tutti info` and the launcher print. Lines end with
// a newline.
#pragma once

#include <string>

#include "tutti/topo/grid.h"
#include "tutti/topo/layout.h"
#include "tutti/topo/machine.h"

namespace tutti::topo {

std::string render(const Machine& machine);
std::string render(const Layout& layout);
// One line per dimension: name, size, how its ranks talk, what a message costs.
std::string render(const Grid& grid);

}  // namespace tutti::topo
