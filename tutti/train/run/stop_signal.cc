#include "tutti/train/run/stop_signal.h"

#include <signal.h>

namespace tutti::train {
namespace {

constexpr int kSignals[] = {SIGINT, SIGTERM};
volatile sig_atomic_t came = 0;

void set_handlers(void (*handler)(int)) {
  struct sigaction action = {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  for (int number : kSignals) sigaction(number, &action, nullptr);
}

}  // namespace

StopSignal::StopSignal() {
  came = 0;
  set_handlers([](int) {
    came = 1;
    set_handlers(SIG_DFL);
  });
}

StopSignal::~StopSignal() {
  set_handlers(SIG_DFL);
}

bool StopSignal::is_asked() const {
  return came != 0;
}

}  // namespace tutti::train
