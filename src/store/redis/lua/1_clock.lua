-- Lease time: what leases, and the silence of workers, are measured in. Somebody may set this server's clock, by whatever
-- amount: no lease may end early then, and none may go on for ever. So lease time goes on only as far as two clocks agree: this
-- server's, and the monotonic one of the caller, which nobody can set. Each caller says how late it is at least: what it was
-- told, and what has passed since by its own clock. Neither a step here nor a caller that was frozen, and knows of time that
-- others have not seen, moves it. While nobody calls it stands still, and a lease ends that much later.
--
-- `seq` keeps it as `lease_now`: lease time, and this server's time at that moment.

local SAVE_EVERY = 1000  -- milliseconds
local UNSEEN_MAX = 5000  -- since it was saved last, that others may know of and this caller may not

local said            -- by the caller of this call: a number, or nil
local stored, at      -- as it stands in the store, and when it was written; nil if it is not
local now             -- once it has been asked for

function lease_clock.start(text)
  said, stored, at, now = tonumber(text), nil, nil, nil
end

-- At most what it is by any caller: to judge whether something has ended.
function lease_clock.now()
  if now then return now end
  if not numbers then read_numbers() end
  local saved, saved_at = string.match(numbers.lease_now or '', '^(%d+) (%d+)$')
  stored, at = tonumber(saved), tonumber(saved_at)
  now = stored and stored + math.max(0, math.min((said or stored) - stored, NOW - at)) or said or NOW
  return now
end

-- At least what it is by any caller: for what ends some time from now.
function lease_clock.latest()
  local least = lease_clock.now()
  return stored and math.max(least, stored + math.min(NOW - at, UNSEEN_MAX)) or least
end

-- What is to be stored, if this call has asked for the time and it is worth it: time has passed, or the clock was set back.
local function unsaved()
  if not now or stored and now - stored < SAVE_EVERY and NOW >= at then return nil end
  stored, at = now, NOW
  return whole(now) .. ' ' .. NOW_TEXT
end
lease_clock.unsaved = unsaved

function lease_clock.save()
  local text = unsaved()
  if text then call('HSET', KEY.seq, 'lease_now', text) end
end
