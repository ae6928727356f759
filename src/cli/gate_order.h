// Opening, closing and limiting a gate by hand, for the verbs gate and queue.
#pragma once

#include <optional>
#include <string>

#include "cli/verb.h"

namespace drover::cli {

struct GateSetOptions {
  enum class What : std::uint8_t { kOpen, kClose, kLimit };

  std::string gate;
  What what = What::kOpen;
  std::optional<Millis> close_for;  // kClose: until opened, unless one of these is set
  std::optional<Time> close_until;
  std::optional<int> permits;  // kLimit; unset: no limit by hand
  std::string reason;
  Format format = Format::kAuto;
};

// The options beside the gate's name.
void define_gate_opening(Verb& verb, GateSetOptions& options);
void define_gate_closing(Verb& verb, GateSetOptions& options);

int set_gate(const GateSetOptions& options, Context& context);

}  // namespace drover::cli
