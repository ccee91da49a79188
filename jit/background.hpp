// Work that nobody waits for, on one thread of the library's own: compilations, mostly.
//
// The thread starts with the first task. When the process ends, tasks that have not begun are dropped and the one that
// runs is waited for, since a compiler that is unloaded below a running compilation takes the process down. In a child
// made by fork() there is no such thread: tasks stay where they are.
#pragma once

#include <functional>

namespace sinter::jit {

/// False: there can be no more threads; the caller does it.
bool run_in_background(std::function<void()> task);
/// exit() undoes what was set up last first. A task that has opened a library calls this, so that the wait comes before
/// the library is closed.
void wait_for_task_at_exit();
/// Until nothing runs and nothing waits.
void wait_for_background();

/// While one lives, no task begins. For tests.
class background_hold {
 public:
  background_hold();
  background_hold(const background_hold&) = delete;
  background_hold& operator=(const background_hold&) = delete;
  ~background_hold();
};

}  // namespace sinter::jit
