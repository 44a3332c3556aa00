// Sub-commands of `tutti`. To add one: its function in a separate file, one row in the table of main.cc.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace tutti::app {

struct Command {
  std::string_view name;
  std::string_view summary;  // one line of `tutti help`
  int (*run)(int argc,
             char** argv);  // argv[0] is the name; returns the exit code, may throw tutti::Error
};

// Runs the command named by argv[1], with argv[1] as its argv[0]. Without a name, or with "help", "--help" or "-h",
// prints the table. Throws ConfigError for an unknown name. `program` is the command line before the name.
int dispatch(std::string_view program, std::span<const Command> commands, int argc, char** argv);

// Returns the result of `body`. If it throws, prints the message and returns the exit code of the error.
int run_program(const std::function<int()>& body);

// Splits "option=value", an argument of the command-line option `flag`. Throws ConfigError (DDL-1-86).
std::pair<std::string, std::string> split_setting(std::string_view flag, std::string_view text);

// `tutti bench`, `tutti info`, ...
int run_bench(int argc, char** argv);
int run_info(int argc, char** argv);
// Replaces this process by the program tutti-learn, which has the command argv[0].
int run_in_learn_program(int argc, char** argv);
int run_lms(int argc, char** argv);
int run_trace(int argc, char** argv);
int run_train(int argc, char** argv);
int run_tune(int argc, char** argv);
int run_evaluate(int argc, char** argv);
int run_export(int argc, char** argv);
int run_predict(int argc, char** argv);
int run_runs(int argc, char** argv);
int run_plot(int argc, char** argv);

}  // namespace tutti::app
