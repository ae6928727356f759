-- Claim: which lane is next, and a lease for what is taken from it.

local OLDEST_EVERY = 8
local VISITS_MAX = 64

-- ---- which line

-- The least recently served line of each rank is the first of its band.
local function least_recently_served(pool)
  local best, best_turn
  for rank = 0, 9 do
    local found = call('ZRANGEBYSCORE', P .. 'pool:' .. pool, whole(rank * BAND), '(' .. whole((rank + 1) * BAND),
                       'WITHSCORES', 'LIMIT', 0, 1)
    if found[1] then
      local turn = tonumber(found[2]) - rank * BAND
      if not best or turn < best_turn or (turn == best_turn and found[1] < best) then best, best_turn = found[1], turn end
    end
  end
  return best
end

-- Lines that are set aside are out of the pool until the call ends.
local function choose_line(work)
  if work.only_line then return not work.aside[work.only_line] and work.only_line or nil end
  local visits = tonumber(call('HGET', P .. 'pool_visits', work.pool)) or 0
  if visits % OLDEST_EVERY == OLDEST_EVERY - 1 then return least_recently_served(work.pool) end
  return call('ZRANGE', P .. 'pool:' .. work.pool, 0, 0)[1]
end

local function set_aside(work, line)
  work.aside[line] = true
  if not work.only_line then call('ZREM', P .. 'pool:' .. work.pool, line) end
end

-- ---- taking

local function place_in(entry_id)
  return tonumber(string.match(entry_id, '^%d+'))
end

-- Those that came back go before fresh ones: their places are smaller.
local function take_returned(key, where, wanted, taken)
  local back = redis.pcall('XPENDING', key, GROUP, '-', '+', wanted, 'returned')
  if back.err then return end
  for _, pending in ipairs(back) do
    local entry = call('XCLAIM', key, GROUP, 'running', 0, pending[1])[1]
    where.returned = where.returned - 1
    if entry then taken[#taken + 1] = entry end
  end
end

-- Entries of a lane, smallest place first; nil if its stream or its group is gone.
local function take_entries(lane, where, wanted)
  local key = P .. 'lane:' .. lane
  local taken = {}
  if where.returned > 0 then take_returned(key, where, wanted, taken) end
  if #taken == wanted then return taken end
  local read = redis.pcall('XREADGROUP', 'GROUP', GROUP, 'running', 'COUNT', wanted - #taken, 'STREAMS', key, '>')
  if read and read.err then return #taken > 0 and taken or nil end
  if read then
    for _, entry in ipairs(read[1][2]) do
      taken[#taken + 1] = entry
      where.last = place_in(entry[1])
    end
  end
  return taken
end

local function drop_entry(lane, entry)
  call('XACK', P .. 'lane:' .. lane, GROUP, entry)
  call('XDEL', P .. 'lane:' .. lane, entry)
end

-- The record behind an entry; nil if it cannot start: it is put apart, or the entry belongs to no waiting task.
local function startable(lane, entry)
  local id = entry[2][2]
  local fields, flat
  if id then fields, flat = read_hash(P .. 't:' .. id) end
  local body = fields and redis.pcall('GET', P .. 'b:' .. id)
  local sound = fields and is_sound(fields) and type(body) == 'string'
  if sound and fields.lane == lane and IS_WAITING[fields.state] then return id, fields, flat, body end
  drop_entry(lane, entry[1])
  if id and not sound then put_apart(id) end
end

-- What decide(Claim) says. Answers with the record: its fields, those that changed, its body, result and checkpoint.
local function start_run(work, lane, entry)
  local id, fields, flat, body = startable(lane, entry)
  if not id then return end
  local taken = work.taken + 1
  work.taken = taken
  local key = P .. 't:' .. id
  local run = (fields.run or 0) + 1
  local changes = {'state', 'running', 'lease', work.leases[taken], 'worker', work.worker, 'run', run, 'attempts',
                   (fields.attempts or 0) + 1, 'started', NOW_TEXT, 'renewed', NOW_TEXT, 'rev', whole(fields.rev + 1)}
  call('HSET', key, unpack(changes))
  if fields.percent then call('HDEL', key, 'percent', 'message') end
  add_event('task.claimed', id, lane, 'running', run, fields.generation or '1', work.event_data)
  count(lane, fields.state, -1)
  count(lane, 'running', 1)
  count_bytes(fields.state, -fields.bytes)
  count_bytes('running', fields.bytes)
  work.until_[2 * taken - 1] = work.ends_at
  work.until_[2 * taken] = id
  -- The result of an earlier generation, and a checkpoint, are there only if the record says so.
  work.records[taken] = {id, flat, changes, body,
                         fields.result and call('GET', P .. 'r:' .. id) or false,
                         fields.checkpoint and call('GET', P .. 'c:' .. id) or false}
end

-- Asks the gates of a lane. Returns the room and, for each limited gate, its limits and use; or 0, the gate, when.
local function ask_gates(parts)
  local all = gates.limits(parts.gates)
  local room = 1000000
  local uses = {}
  for i, name in ipairs(parts.gates) do
    local limits = all[i]
    if limits then
      local use = gates.use(name, limits)
      local here, look_again = gates.ask(limits, use, parts.cost)
      if here == 0 then return 0, name, look_again end
      room = math.min(room, here)
      uses[#uses + 1] = {name = name, limits = limits, use = use}
    end
  end
  return room, uses
end

local function first_full(parts, uses)
  for _, gate in ipairs(uses) do
    local room, look_again = gates.ask(gate.limits, gate.use, parts.cost)
    if room == 0 then return gate.name, look_again end
  end
end

local function serve_owner(parts, line, taken, served)
  local vt, clock = virtual_times(parts)
  vt = vt or clock
  local later = vt + math.floor(taken * UNIT / weight_of(parts.owner))
  call('HSET', P .. 'vt:' .. parts.queue, parts.group, whole(later), parts.rank, whole(math.max(clock, vt)),
       'served:' .. line, (served + taken) % OLDEST_EVERY)
  return later
end

local function take_from(work, line, lane, parts, where, wanted, uses, served)
  local entries = take_entries(lane, where, wanted)
  if not entries then
    lanes.give_up(lane, parts)
    return 0
  end
  local before = work.taken
  for _, entry in ipairs(entries) do start_run(work, lane, entry) end
  local taken = work.taken - before
  if taken > 0 then
    for _, gate in ipairs(uses) do gates.spend(gate.name, gate.limits, gate.use, parts.cost, taken) end
    local vt = serve_owner(parts, line, taken, served)
    for _, open_line in ipairs(parts.lines) do
      call('ZADD', P .. 'line:' .. open_line, whole(parts.rank * BAND + vt), parts.group)
      touched[open_line] = touched[open_line] or 0
    end
    if not work.only_line then
      local turn = call('HINCRBY', P .. 'seq', 'turn', 1)
      call('HSET', P .. 'turns', line, turn)
      call('HINCRBY', P .. 'pool_visits', work.pool, 1)
    end
  end
  local head = head_of(lane, where)
  if not head then
    leave_open(lane, parts)
    call('HDEL', P .. 'lanes', lane)
    drop_if_empty(lane)
    return taken
  end
  local full, look_again = first_full(parts, uses)
  if full then
    park(lane, parts, where, full, head, look_again)
  else
    set_head(lane, parts, where, head)
  end
  set_where(lane, where)
  return taken
end

-- ---- one visit

-- Nil when the line has nothing for this claim.
local function choose_lane(work, line, served)
  local queue = string.match(line, '^[^|]+')
  local turn_of_oldest = served == OLDEST_EVERY - 1
  if turn_of_oldest then
    local lane = call('ZRANGE', P .. 'oldest:' .. line, 0, 0)[1]
    if not lane then return nil end
    local parts = parts_of(lane)
    if parts.rank <= work.reserved_rank or work.others_left > 0 then return lane, parts, true end
  end
  local lane = first(line, queue)
  if not lane then return nil end
  local parts = parts_of(lane)
  if parts.rank > work.reserved_rank and work.others_left <= 0 then return nil end
  return lane, parts, false
end

local function visit(work, line)
  local queue = string.match(line, '^[^|]+')
  local served = tonumber(call('HGET', P .. 'vt:' .. queue, 'served:' .. line)) or 0
  local lane, parts, oldest = choose_lane(work, line, served)
  if not lane then return set_aside(work, line) end
  work.visits = work.visits + 1
  local where = where_is(lane)
  if not where then return lanes.give_up(lane, parts) end
  local room, uses, look_again = ask_gates(parts)
  if room == 0 then
    local head = tonumber(call('ZSCORE', P .. 'oldest:' .. line, lane))
    park(lane, parts, where, uses, head, look_again)
    set_where(lane, where)
    return
  end
  local wanted = math.min(work.n - work.taken, room)
  local is_other = parts.rank > work.reserved_rank
  if is_other then wanted = math.min(wanted, work.others_left) end
  if oldest then
    wanted = 1
  elseif wanted > 1 and call('ZCARD', P .. 'oldest:' .. line) > 1 then
    -- Nobody gets a long turn while others wait.
    wanted = math.min(wanted, math.max(1, OLDEST_EVERY - 1 - served))
  end
  local taken = take_from(work, line, lane, parts, where, wanted, uses, served)
  if is_other then work.others_left = work.others_left - taken end
  -- Whoever sleeps may come for the rest.
  if taken > 0 then touched[line] = math.max(touched[line], 1) end
end

-- args: now, pool, worker, lease, n, reserved rank (9: none), others, lease ids…
function functions.claim(keys, args)
  begin(keys, args)
  lanes.start()
  local work = {pool = args[2], worker = args[3], lease = tonumber(args[4]), n = tonumber(args[5]),
                reserved_rank = tonumber(args[6]), others_left = tonumber(args[7]), leases = {}, records = {}, until_ = {},
                aside = {}, taken = 0, visits = 0}
  work.ends_at = whole(NOW + work.lease)
  work.event_data = '{"worker_id":"' .. work.worker .. '"}'
  local lines = call('HGET', P .. 'pool_lines', work.pool)
  if not lines then return redis.error_reply('NOPOOL ' .. work.pool) end
  work.only_line = lines ~= '' and lines or nil
  for i = 1, work.n do work.leases[i] = args[7 + i] end
  lanes.wake_gates()
  while work.taken < work.n and work.visits < VISITS_MAX do
    if not work.only_line then lanes.rank_touched(work.pool, work.aside) end
    local line = choose_line(work)
    if not line then break end
    visit(work, line)
  end
  if #work.until_ > 0 then call('ZADD', P .. 'leases', unpack(work.until_)) end
  for line in pairs(work.aside) do touched[line] = touched[line] or 0 end
  lanes.tell_pools()
  finish()
  local more = work.taken < work.n and
    (work.visits >= VISITS_MAX or call('ZCOUNT', P .. 'wake', '-inf', whole(NOW)) > 0)
  return {more and 1 or 0, work.visits, work.records}
end
