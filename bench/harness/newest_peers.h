// Python environment with the newest releases of other libraries, which `scripts/install-deps.sh --with peers` creates.
#pragma once

#include <optional>
#include <string>

namespace tutti::bench {

// Returns its Python: $TUTTI_PEERS/bin/python3, by default in ${XDG_CACHE_HOME:-~/.cache}/tutti/peers, if it exists.
std::optional<std::string> newest_peers();

}  // namespace tutti::bench
