// `tutti learn`: linear models and trees on data files.
#pragma once

namespace tutti::app {

int run_learn(int argc, char** argv);

}  // namespace tutti::app
