// A sub-command of `tutti`. Adding one: its function in a file of its own, one row in the table of
// main.cc.
#pragma once

#include <functional>
#include <span>
#include <string_view>

namespace tutti::app {

struct Command {
  std::string_view name;
  std::string_view summary;  // one line of `tutti help`
  int (*run)(int argc,
             char** argv);  // argv[0] is the name; returns the exit code, may throw tutti::Error
};

// Runs the command that argv[1] names, with argv[1] as its argv[0]. Without a name, with "help",
// "--help" or "-h" it prints the table. Throws ConfigError when nothing has that name. `program` is
// what the user typed before the name.
int dispatch(std::string_view program, std::span<const Command> commands, int argc, char** argv);

// What `body` returns. When it throws: says why, and returns the exit code for that.
int run_program(const std::function<int()>& body);

// `tutti bench`, `tutti info`, ...
int run_bench(int argc, char** argv);
int run_info(int argc, char** argv);
// Becomes the program tutti-learn, which has the command argv[0].
int run_in_learn_program(int argc, char** argv);
int run_lms(int argc, char** argv);
int run_trace(int argc, char** argv);
int run_train(int argc, char** argv);
int run_evaluate(int argc, char** argv);
int run_export(int argc, char** argv);
int run_predict(int argc, char** argv);
int run_runs(int argc, char** argv);
int run_plot(int argc, char** argv);

}  // namespace tutti::app
