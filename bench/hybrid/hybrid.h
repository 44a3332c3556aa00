// `tutti bench hybrid`: synchronous, hybrid and asynchronous training with and without a slow rank.
#pragma once

namespace tutti::bench {

int run_hybrid(int argc, char** argv);

}  // namespace tutti::bench
