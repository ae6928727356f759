-- Lease time: what leases, and the silence of workers, are measured in. Somebody may set this server's clock, and by whatever
-- amount: then no lease may end early, and none may go on for ever. So lease time does not follow that clock at all. Each
-- caller says how late it is at least: what it was last told, and what has passed since by its own monotonic clock, which
-- nobody can set. The latest of these counts. While nobody calls it stands still, and a lease ends that much later.
--
-- It begins as the time of the store's first call, and is kept in `seq` as `lease_now`.

local SAVE_EVERY = 1000

local said    -- by the caller of this call: a number, or nil
local stored  -- as it stands in the store, or nil
local now     -- once it has been asked for

function lease_clock.start(text)
  said, stored, now = tonumber(text), nil, nil
end

function lease_clock.now()
  if not now then
    if not numbers then read_numbers() end
    stored = numbers.lease_now
    now = math.max(stored or said or NOW, said or 0)
  end
  return now
end

-- What is to be stored, if this call has asked for the time and it is worth it.
local function unsaved()
  if not now or stored and now - stored < SAVE_EVERY then return nil end
  stored = now
  return whole(now)
end
lease_clock.unsaved = unsaved

function lease_clock.save()
  local text = unsaved()
  if text then call('HSET', P .. 'seq', 'lease_now', text) end
end
