#include "tutti/train/run/stop_signal.h"

#include <signal.h>
#include <unistd.h>

namespace tutti::train {
namespace {

constexpr int kSignals[] = {SIGINT, SIGTERM};
constexpr char kAnswer[] =
    "\nStopping after this step, with a checkpoint. Repeat to stop at once, without one.\n";
volatile sig_atomic_t came = 0, answers = 0;

void set_handlers(void (*handler)(int)) {
  struct sigaction action = {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  for (int number : kSignals) sigaction(number, &action, nullptr);
}

}  // namespace

StopSignal::StopSignal(bool prints_message) {
  came = 0;
  answers = prints_message;
  set_handlers([](int) {
    came = 1;
    set_handlers(SIG_DFL);
    if (answers && write(STDERR_FILENO, kAnswer, sizeof kAnswer - 1) < 0) answers = 0;
  });
}

StopSignal::~StopSignal() {
  set_handlers(SIG_DFL);
}

bool StopSignal::stop_requested() const {
  return came != 0;
}

}  // namespace tutti::train
