-- Apply: groups of steps of any kind.

-- Where each group begins; and everything that the checks look at, read in one go.
local function lay_out(n)
  local groups, keys, at = {}, {}, 1
  for i = 1, n do
    groups[i] = at
    at = steps.lay_out(at, keys)
  end
  if #keys > 0 then fetch(keys) end
  return groups
end

-- args: now, number of groups, groups, packed
function functions.apply(keys, args)
  begin(keys, args)
  lanes.start()
  steps.start_writes()
  steps.unpack(args[3])
  local verdicts = {}
  for i, group in ipairs(lay_out(tonumber(args[2]))) do verdicts[i] = steps.apply(group) end
  steps.flush_writes()
  lanes.tell_pools()
  finish()
  return verdicts
end
