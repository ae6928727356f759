// Agents as runners: a preset's command line, what its output says while it runs, and how the run is judged.
//
// Steps:  agent ──▶ verify, if the profile asks for it
// A session that is gone is begun anew inside the same run.
#pragma once

#include <memory>
#include <string>

#include "agents/preset.h"
#include "worker/run_plan.h"

namespace drover {

[[nodiscard]] std::unique_ptr<RunPlan> make_agent_plan(const agents::Preset& preset, const RunSetting& setting);

// What the agent is told: what earlier runs left behind, then the prompt, then the payload. Empty if there is nothing
// to do.
[[nodiscard]] std::string agent_prompt(const ClaimedTask& claimed);
// What its named session is told before that, if it has not been: one that begins is told everything.
[[nodiscard]] std::string session_introduction(const ClaimedTask& claimed, bool goes_on);

}  // namespace drover
