-- What is ahead in a lane: the places behind the last delivered, as ranges that were pushed together, so that after each visit
-- of a claim the next head is known without a look into the stream. It is kept (1_kept.lua) of lanes that were pushed to
-- since they are there; if not `is_whole`, there are more behind.

local RANGES_MAX = 4000  -- of all lanes together

-- The lane's, and those of all lanes.
local function ahead_of(lane)
  local all = kept.remembered('ahead')
  all.ranges_n = all.ranges_n or 0
  return all[lane], all
end

function ahead.forget(lane)
  local own, all = ahead_of(lane)
  if own then all.ranges_n, all[lane] = all.ranges_n - (own.till - own.from + 1), nil end
end

-- Places in a row were pushed; is_new: the lane had none before.
function ahead.add(lane, is_new, first, last)
  if is_new then
    ahead.forget(lane)
    kept.remember('ahead', lane, {from = 1, till = 0, is_whole = true})
  end
  local own, all = ahead_of(lane)
  if not own or not own.is_whole then return end
  local newest = own[own.till]
  if newest and newest.last + 1 == first then
    newest.last = last
  elseif all.ranges_n >= RANGES_MAX then
    own.is_whole = false
  else
    all.ranges_n, own.till = all.ranges_n + 1, own.till + 1
    own[own.till] = {first = first, last = last}
  end
end

-- The first place behind this one; nil if there is none, false if that is not known.
function ahead.first(lane, place)
  local own, all = ahead_of(lane)
  if not own then return false end
  while own.from <= own.till do
    local range = own[own.from]
    if place < range.last then return math.max(place + 1, range.first) end
    own[own.from], own.from, all.ranges_n = nil, own.from + 1, all.ranges_n - 1
  end
  if own.is_whole then return nil end
  ahead.forget(lane)
  return false
end
