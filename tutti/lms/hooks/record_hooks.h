// Connection of a session to libtorch: allocator and operator callbacks.
#pragma once

namespace tutti::lms {

class Session;

// The session that receives operators and allocations; nullptr: none.
Session* active_session();
// Installs the callbacks and starts the session. At most one session is active.
void activate(Session& session);
// Stops the active session and removes the callbacks.
void deactivate();

}  // namespace tutti::lms
