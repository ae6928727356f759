-- Claim: which lane is next, and a lease for what is taken from it.

local OLDEST_EVERY = 8
local VISITS_MAX = 64

-- ---- which line

-- The least recently served line of each rank is the first of its band.
local function least_recently_served(pool)
  local best, best_turn
  for rank = 0, 9 do
    local found = call('ZRANGEBYSCORE', KEY.pool .. pool, whole(rank * BAND), '(' .. whole((rank + 1) * BAND),
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
  local visits = tonumber(call('HGET', KEY.pool_visits, work.pool)) or 0
  if visits % OLDEST_EVERY == OLDEST_EVERY - 1 then return least_recently_served(work.pool) end
  return call('ZRANGE', KEY.pool .. work.pool, 0, 0)[1]
end

local function set_aside(work, line)
  work.aside[line] = true
  if not work.only_line then call('ZREM', KEY.pool .. work.pool, line) end
end

-- ---- taking

local function place_in(entry_id)
  return tonumber(string.match(entry_id, '^%d+'))
end

-- Those that came back go before fresh ones: their places are smaller.
local function take_returned(lane, key, where, wanted, taken)
  local back = redis.pcall('XPENDING', key, GROUP, '-', '+', wanted, 'returned')
  if back.err then return end
  for _, pending in ipairs(back) do
    local entry = call('XCLAIM', key, GROUP, 'running', 0, pending[1])[1]
    where.returned = where.returned - 1
    if entry then taken[#taken + 1] = entry else forget_undone(lane) end
  end
end

-- Entries of a lane, smallest place first; nil if its stream or its group is gone.
local function take_entries(lane, where, wanted)
  local key = parts_of(lane).key
  local taken = {}
  if where.returned > 0 then take_returned(lane, key, where, wanted, taken) end
  if #taken == wanted then return taken end
  local read = redis.pcall('XREADGROUP', 'GROUP', GROUP, 'running', 'COUNT', whole(wanted - #taken), 'STREAMS', key, '>')
  if read and read.err then return #taken > 0 and taken or nil end
  if read then
    local entries = read[1][2]
    for i = 1, #entries do taken[#taken + 1] = entries[i] end
    where.last = place_in(entries[#entries][1])
    local undone = undone_of(lane)
    if undone then undone.n = undone.n + #entries end
  end
  return taken
end

local function drop_entry(lane, entry)
  call('XACK', KEY.lane .. lane, GROUP, entry)
  call('XDEL', KEY.lane .. lane, entry)
end

-- An entry that belongs to no waiting task of the lane goes; a task that cannot be read is put apart.
local function refuse(lane, entry, id)
  drop_entry(lane, entry[1])
  if id and not (record_of(id) and get(KEY.body .. id)) then put_apart(id) end
end

-- Lists a task that was taken: its answer, its lease, its record.
local function add_taken(work, id, key, text, body, result, checkpoint)
  local taken = work.taken + 1
  work.taken = taken
  local until_, answer = work.until_, work.answer
  until_[2 * taken - 1], until_[2 * taken] = work.ends_at, id
  local n = #writes
  writes[n + 1], writes[n + 2] = key, text
  n = #answer
  answer[n + 1], answer[n + 2], answer[n + 3], answer[n + 4], answer[n + 5], answer[n + 6] = id, text, false, body, result, checkpoint
end

-- What decide(Claim) says, of a task that may have run before.
local function start_run(work, lane, entry, key, stored, body)
  local id = entry[2][2]
  local rev, where, bytes, marks, state, run, attempts, tail, generation, own_lane = records.waiting(stored or '')
  if own_lane ~= lane or not IS_WAITING[state] or not body then return refuse(lane, entry, id) end
  if has_mark(marks, 'p') then
    marks = without_mark(marks, 'p')
    put(KEY.progress .. id, false)
  end
  run = whole(run + 1)
  local text = records.running_text(whole(rev + 1), where, bytes, work.renewed, marks, run, whole(attempts + 1),
                                    work.leases[work.taken + 1], work.worker, tail)
  events[#events + 1] = 'task.claimed|' .. id .. '|' .. lane .. '|running|' .. run .. '|' .. generation .. work.event_data
  move(lane, state, -1, -bytes)
  move(lane, 'running', 1, bytes)
  -- The result of an earlier generation, and a checkpoint, are there only if the record says so.
  add_taken(work, id, key, text, body, has_mark(marks, 'r') and get(KEY.result .. id),
            has_mark(marks, 'c') and get(KEY.checkpoint .. id))
end

local function start_runs(work, lane, entries)
  local before, keys = work.taken, {}
  for i = 1, #entries do
    local id = entries[i][2][2] or ''
    keys[2 * i - 1], keys[2 * i] = KEY.task .. id, KEY.body .. id
  end
  if #keys == 0 then return 0 end
  local found = call('MGET', unpack(keys))
  local text_of_all = 'task.claimed|*|' .. lane .. '|running|1|1' .. work.event_data
  local words = records.untouched_words(lane)
  local claimed, claimed_n, n, bytes_sum = nil, 0, 0, 0
  for i = 1, #entries do
    local stored, body = found[2 * i - 1], found[2 * i]
    local where, bytes, left_alone = records.untouched(stored or '', words)
    if where and body then
      local id = entries[i][2][2]
      if not claimed then
        claimed = event.alike(text_of_all)
        claimed_n = #claimed
      end
      claimed_n = claimed_n + 1
      claimed[claimed_n] = id
      local text = records.running_text('2', where, bytes, work.renewed, '~', '1', '1', work.leases[work.taken + 1], work.worker,
                                        left_alone)
      add_taken(work, id, keys[2 * i - 1], text, body, false, false)
      n, bytes_sum = n + 1, bytes_sum + bytes
    else
      start_run(work, lane, entries[i], keys[2 * i - 1], stored, body)
      claimed = nil
    end
  end
  if n > 0 then
    move(lane, 'pending', -n, -bytes_sum)
    move(lane, 'running', n, bytes_sum)
  end
  return work.taken - before
end

-- Asks the gates of a lane. Returns the room, the use of each limited gate, and its owner's weight; or 0, the gate, when.
local NO_USES = {}

local function ask_gates(parts)
  local all, weight = gates.limits(parts)
  local room = 1000000
  if not all.any then return room, NO_USES, weight end
  local uses = {per_run = all[3] and all[3].per_run}
  for i, name in ipairs(parts.gates) do
    local limits = all[i]
    if limits then
      local use = gates.use(name, limits)
      local here, look_again = gates.ask(limits, use, parts.cost, uses.per_run)
      if here == 0 then return 0, name, look_again end
      room = math.min(room, here)
      uses[#uses + 1] = {name = name, limits = limits, use = use}
    end
  end
  return room, uses, weight
end

local function first_full(parts, uses)
  for _, gate in ipairs(uses) do
    local room, look_again = gates.ask(gate.limits, gate.use, parts.cost, uses.per_run)
    if room == 0 then return gate.name, look_again end
  end
end

-- The owner pays for what it got.
local function serve_owner(choice, taken, weight)
  local parts, line = choice.parts, choice.line
  local vt = choice.vt + math.floor(taken * UNIT / weight)
  line = line_of(line)
  kept.set(parts.vt, parts.group, vt)
  if choice.vt > choice.clock then kept.set(parts.vt, parts.rank_text, choice.vt) end
  kept.set(parts.vt, line.served, (choice.served + taken) % OLDEST_EVERY)
  -- The other line finds out when it looks.
  kept.rank(line.key, parts.group, parts.rank * BAND + vt)
  local first, second = parts.lines[1], parts.lines[2]
  touched[first], touched[second] = touched[first] or 0, touched[second] or 0
end

local function take_from(work, choice, where, wanted, uses, weight)
  local lane, parts = choice.lane, choice.parts
  local entries = take_entries(lane, where, wanted)
  if not entries then
    lanes.give_up(lane, parts)
    return 0
  end
  local taken = start_runs(work, lane, entries)
  if taken > 0 then
    for _, gate in ipairs(uses) do gates.spend(gate.name, gate.limits, gate.use, parts.cost, taken, uses.per_run) end
    serve_owner(choice, taken, weight)
    if not work.only_line then
      local turn = call('HINCRBY', KEY.seq, 'turn', 1)
      call('HSET', KEY.turns, choice.line, whole(turn))
      call('HINCRBY', KEY.pool_visits, work.pool, 1)
    end
  end
  local head = head_of(lane, where)
  if not head then
    leave_open(lane, parts)
    leave_lanes(lane)
  else
    local full, look_again = first_full(parts, uses)
    if full then
      park(lane, parts, where, full, head, look_again)
    else
      set_oldest(lane, parts, head)
    end
    set_where(lane, where)
  end
  if taken < #entries or taken == 0 then trim(lane, parts.key) end
  return taken
end

-- ---- one visit

local function may_serve(work, parts)
  return parts.rank <= work.reserved_rank or work.others_left > 0
end

-- The lane whose turn it is in a line, with the virtual times of its group; nil when the line has nothing for this claim.
local function choose_lane(work, line)
  local group, vt, clock, served = first_group(line)
  if not group then return nil end
  if served == OLDEST_EVERY - 1 then
    local lane = kept.first(line_of(line).oldest)
    local parts = lane and parts_of(lane)
    if parts and may_serve(work, parts) then
      if parts.group ~= group then
        vt, clock = virtual_times(parts)
        vt = vt or 0  -- what is nothing is not stored
      end
      return {line = line, lane = lane, parts = parts, vt = vt, clock = clock, served = served, oldest = true}
    end
  end
  local lane = first_of_group(line, group)
  local parts = parts_of(lane)
  if not may_serve(work, parts) then return nil end
  return {line = line, lane = lane, parts = parts, vt = vt, clock = clock, served = served}
end

local function how_many(work, choice, room)
  local wanted = math.min(work.n - work.taken, room)
  if choice.parts.rank > work.reserved_rank then wanted = math.min(wanted, work.others_left) end
  if choice.oldest then return 1 end
  if wanted > 1 and not kept.is_single(line_of(choice.line).oldest) then
    -- Nobody gets a long turn while others wait.
    wanted = math.min(wanted, math.max(1, OLDEST_EVERY - 1 - choice.served))
  end
  return wanted
end

local function visit(work, line)
  local choice = choose_lane(work, line)
  if not choice then return set_aside(work, line) end
  work.visits = work.visits + 1
  local lane, parts = choice.lane, choice.parts
  local where = where_is(lane)
  if not where then return lanes.give_up(lane, parts) end
  local room, uses, weight = ask_gates(parts)
  if room == 0 then
    local gate, look_again = uses, weight
    local head = kept.score(line_of(line).oldest, lane)
    park(lane, parts, where, gate, head, look_again)
    set_where(lane, where)
    return
  end
  local taken = take_from(work, choice, where, how_many(work, choice, room), uses, weight)
  if parts.rank > work.reserved_rank then work.others_left = work.others_left - taken end
  -- Whoever sleeps may come for the rest.
  if taken > 0 then touched[line] = math.max(touched[line], 1) end
end

-- ---- claims with a key: what one took is kept with its worker, so that a repeat gets the same tasks and no others

local RECORD_PARTS = 6  -- of a task in the answer

-- What that one still holds, renewed.
local function claim_again(work, claimed)
  local worker = KEY.worker .. work.worker
  call('HSET', worker, 'last_beat_at', whole(NOW))
  call('ZADD', KEY.workers, work.renewed, work.worker)
  local ids, lease_of, live, until_ = {}, {}, {}, {}
  for id, lease in string.gmatch(claimed, '(%S+) (%S+)') do
    ids[#ids + 1] = id
    lease_of[id] = lease
  end
  fetch_records(ids)
  for _, id in ipairs(ids) do
    local record = record_of(id)
    if record and record.state == 'running' and record.lease == lease_of[id] then
      record.renewed, record.beats = work.renewed, whole(record.beats + 1)
      put_kept(id, record)
      live[#live + 1] = id
      until_[#until_ + 1], until_[#until_ + 2] = work.ends_at, id
    end
  end
  for _, task in ipairs(reads.answers_of(live, 'all')) do
    for part = 1, RECORD_PARTS do work.answer[#work.answer + 1] = task[part] end
  end
  call_in_pieces('ZADD', KEY.leases, until_)
  save_strings()
  lease_clock.save()
  return work.answer
end

-- With nothing taken the key is as good as never used.
local function keep_claim(work, key)
  local worker = KEY.worker .. work.worker
  if work.taken == 0 then return call('HDEL', worker, 'claim_key', 'claimed') end
  local claimed = {}
  for i = 1, work.taken do claimed[i] = work.until_[2 * i] .. ' ' .. work.leases[i] end
  call('HSET', worker, 'claim_key', key, 'claimed', table.concat(claimed, ' '))
end

-- args: now, pool, worker, lease, n, reserved rank (9: none), others, lease ids…; of a claim with a key also that, and whether it
-- takes other tasks than it took before.
-- Answers whether there is more (-1: there is no such worker to keep the key with), how many lanes were visited, and then of each task: id, record, false, body, result, checkpoint.
function functions.claim(keys, args)
  begin(keys, args)
  lanes.start()
  local work = {pool = args[2], worker = args[3], lease = tonumber(args[4]), n = tonumber(args[5]),
                reserved_rank = tonumber(args[6]), others_left = tonumber(args[7]), leases = {}, answer = {0, 0}, until_ = {},
                aside = {}, taken = 0, visits = 0}
  work.ends_at = whole(lease_clock.latest() + work.lease)
  work.event_data = '|{"worker_id":"' .. work.worker .. '"}'
  work.renewed = whole(lease_clock.latest())
  local key, takes_others = args[8 + work.n], args[9 + work.n] == '1'
  if key then
    local found = call('HMGET', KEY.worker .. work.worker, 'registered_at', 'claim_key', 'claimed')
    if not found[1] then return {-1, 0} end
    if found[2] == key and not takes_others then return claim_again(work, found[3] or '') end
  end
  local lines = lanes.line_of_pool(work.pool)
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
  if #work.until_ > 0 then
    call('ZADD', KEY.leases, unpack(work.until_))
    due_at(NOW + work.lease)
  end
  if key and (work.taken > 0 or takes_others) then keep_claim(work, key) end
  for line in pairs(work.aside) do touched[line] = touched[line] or 0 end
  lanes.tell_pools()
  finish()
  local more = work.taken < work.n and
    (work.visits >= VISITS_MAX or call('ZCOUNT', KEY.wake, '-inf', whole(NOW)) > 0)
  work.answer[1], work.answer[2] = more and 1 or 0, work.visits
  return work.answer
end
