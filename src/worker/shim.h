// The shim: one small process per run that supervises the agent's process tree, so that no part of it outlives the run.
//
//   worker ──control──▶ shim ──fork──▶ agent ──▶ whatever it starts
//          ◀──status───
//
// It is the sub-reaper of everything beneath it, so that nothing can slip away by forking twice or by a session of its
// own. It ends the tree when the agent is done, when told to, when the lease runs short, and at once when the worker is
// gone. It exits when nothing is left.
#pragma once

namespace drover {

// drover shim EXPIRES_MS LEASE_MS DESCRIPTORS -- ARGV...
// Descriptors 0 to 2 are the agent's; 3 and 4 speak shim_protocol.h. Not for people: the worker starts it.
[[nodiscard]] int shim_main(int argc, char** argv);

}  // namespace drover
