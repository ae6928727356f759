-- Apply: groups of steps under compare-and-set. All checks of a group first, then all its writes.

local DONE, CONFLICT, ID_TAKEN, REQUEST_TAKEN, QUEUE_FULL, STILL_LEASED = 0, 1, 2, 3, 4, 5

-- The order of these is that of step_arguments.cc.
local function take_step()
  local step = {id = take(), expected = take_number(), beats = take(), needs_place = take() == '1', state = take(),
                lane = take(), run = take(), generation = take()}
  step.fields = take_list()
  step.body = take()
  step.result_op, step.result = take(), take()
  step.bytes = take_number()
  step.place = take_number()
  step.run_at, step.deadline, step.cascade = take(), take(), take() == '1'
  step.run_end, step.revoked = take(), take() == '1'
  step.events = take_list()
  if step.expected == 0 then
    step.request, step.spawner, step.tags, step.parents = take(), take(), take_list(), take_list()
  end
  step.dedupe = take()
  return step
end

function steps.take_gates()
  local all = {}
  for i = 1, take_number() do
    all[i] = {name = take(), expected = take_number(), op = take(), record = take(), limits = take(), events = take_list()}
  end
  return all
end

local function take_group()
  local group = {steps = {}, dedupes = {}, queues = {}}
  group.waiting_max, group.owner_max = take(), take()
  for i = 1, take_number() do group.queues[i] = {queue = take(), max = take_number()} end
  for i = 1, take_number() do group.dedupes[i] = {key = take(), newest = take()} end
  group.gates = steps.take_gates()
  for i = 1, take_number() do group.steps[i] = take_step() end
  return group
end

-- ---- checks

local OLD = {'rev', 'state', 'lane', 'place', 'seq', 'bytes', 'started', 'worker', 'beats', 'deadline', 'cascade', 'result',
             'checkpoint'}
local KEPT = {'renewed', 'percent', 'message'}  -- with beats: what renewals and notes write

local function read_old(id)
  local values = redis.pcall('HMGET', P .. 't:' .. id, unpack(OLD))
  if values.err or not values[1] then return nil end
  local old = {}
  for i, name in ipairs(OLD) do old[name] = values[i] or nil end
  return old
end

local function check_new(step, added, requests)
  if step.request ~= '' then
    if requests[step.request] or call('EXISTS', P .. 'request:' .. step.request) == 1 then return REQUEST_TAKEN end
    requests[step.request] = true
  end
  if call('EXISTS', P .. 't:' .. step.id) == 1 then return ID_TAKEN end
  for _, parent in ipairs(step.parents) do
    if not added[parent] and call('EXISTS', P .. 't:' .. parent) == 0 then return CONFLICT end
  end
  return DONE
end

-- A run that was ended without its worker: its agent may live until its lease would have run out.
local function revoke(id)
  local until_ = call('ZSCORE', P .. 'leases', id)
  call('ZREMRANGEBYSCORE', P .. 'revoked', '-inf', NOW_TEXT)
  if until_ then call('ZADD', P .. 'revoked', until_, id) end
end

local function is_still_leased(id)
  local until_ = call('ZSCORE', P .. 'revoked', id)
  return until_ and tonumber(until_) > NOW
end

local function check_stored(step)
  step.old = read_old(step.id)
  if not step.old or tonumber(step.old.rev) ~= step.expected then return CONFLICT end
  if not is_sound(step.old) then
    put_apart(step.id)
    return CONFLICT
  end
  if step.beats ~= '-' and (step.old.beats or '0') ~= step.beats then return CONFLICT end
  local begins_anew = IS_TERMINAL[step.old.state] and not IS_TERMINAL[step.state]
  if begins_anew and is_still_leased(step.id) then return STILL_LEASED end
  return DONE
end

local WAITING = {'blocked', 'scheduled', 'pending', 'stalled'}

local function has_capacity(group)
  if group.waiting_max == '' then return true end
  local all, owners, queues = 0, {}, {}
  for _, step in ipairs(group.steps) do
    if step.expected == 0 then
      local parts = parts_of(step.lane)
      all = all + 1
      owners[parts.owner] = (owners[parts.owner] or 0) + 1
      queues[parts.queue] = (queues[parts.queue] or 0) + 1
    end
  end
  if all == 0 then return true end
  if counted('all', WAITING) + all > tonumber(group.waiting_max) then return false end
  for owner, added in pairs(owners) do
    if counted('owner:' .. owner, WAITING) + added > tonumber(group.owner_max) then return false end
  end
  for _, limit in ipairs(group.queues) do
    if queues[limit.queue] and counted('queue:' .. limit.queue, WAITING) + queues[limit.queue] > limit.max then
      return false
    end
  end
  return true
end

local function check(group)
  local added, requests = {}, {}
  for _, step in ipairs(group.steps) do
    if step.expected == 0 then added[step.id] = true end
  end
  for _, step in ipairs(group.steps) do
    local verdict = step.expected == 0 and check_new(step, added, requests) or check_stored(step)
    if verdict ~= DONE then return verdict end
  end
  for _, gate in ipairs(group.gates) do
    if gates.revision(gate.name) ~= gate.expected then return CONFLICT end
  end
  for _, guard in ipairs(group.dedupes) do
    local newest = call('ZREVRANGE', P .. 'dedupe:' .. guard.key, 0, 0)[1] or ''
    if newest ~= guard.newest then return CONFLICT end
  end
  return has_capacity(group) and DONE or QUEUE_FULL
end

-- ---- writes

-- What is written once per call, or per lane: new entries at the tail, entries that go, permits that come back, and the
-- sets of all leases and of all finished tasks.
local pushes, drops, ends, unleased, finished

function steps.start_writes()
  pushes, drops, ends, unleased, finished = {}, {}, {}, {}, {}
end

local function add_to(map, lane, value)
  local list = map[lane]
  if not list then
    list = {}
    map[lane] = list
    map[#map + 1] = lane
  end
  list[#list + 1] = value
end

-- In pieces, because a call takes a bounded number of arguments.
local function call_in_pieces(command, key, list)
  for from = 1, #list, 1000 do call(command, key, unpack(list, from, math.min(from + 999, #list))) end
end

local function flush_writes()
  call_in_pieces('ZREM', P .. 'leases', unleased)
  call_in_pieces('ZADD', P .. 'finished', finished)
  for _, lane in ipairs(ends) do gates.release(parts_of(lane), ends[lane]) end
  for _, lane in ipairs(drops) do lanes.drop(lane, drops[lane]) end
  for _, lane in ipairs(pushes) do lanes.push(lane, pushes[lane]) end
  steps.start_writes()
end

local function leave_state(step, old)
  if IS_WAITING[old.state] then
    if pushes[old.lane] then flush_writes() end
    lanes.remove(old.lane, tonumber(old.place))
  elseif old.state == 'scheduled' then
    call('ZREM', P .. 'scheduled', step.id)
  elseif old.state == 'running' then
    if step.revoked then revoke(step.id) end
    unleased[#unleased + 1] = step.id
    add_to(ends, old.lane, tonumber(old.started))
    if not (IS_WAITING[step.state] and not step.needs_place) then add_to(drops, old.lane, tonumber(old.place)) end
  elseif IS_TERMINAL[old.state] then
    if #finished > 0 then flush_writes() end
    call('ZREM', P .. 'finished', step.id)
  end
end

local function enter_state(step, place)
  if IS_WAITING[step.state] then
    if step.needs_place then
      add_to(pushes, step.lane, {step.id, place})
    elseif not lanes.give_back(step.lane, place) then
      -- Its entry is gone, so it cannot keep its place.
      place = call('HINCRBY', P .. 'seq', 'place', 1)
      call('HSET', P .. 't:' .. step.id, 'place', whole(place))
      add_to(pushes, step.lane, {step.id, place})
    end
  elseif step.state == 'scheduled' then
    call('ZADD', P .. 'scheduled', step.run_at, step.id)
  elseif IS_TERMINAL[step.state] then
    finished[#finished + 1] = NOW_TEXT
    finished[#finished + 1] = step.id
  end
end

local function write_indexes(step, old_deadline, old_cascade)
  if step.deadline ~= '' then
    call('ZADD', P .. 'deadlines', step.deadline, step.id)
  elseif old_deadline then
    call('ZREM', P .. 'deadlines', step.id)
  end
  if step.cascade then
    call('ZADD', P .. 'cascades', whole(NOW), step.id)
  elseif old_cascade then
    call('ZREM', P .. 'cascades', step.id)
  end
  if step.dedupe ~= '' then
    if IS_TERMINAL[step.state] then
      call('ZREM', P .. 'dedupe_open:' .. step.dedupe, step.id)
    else
      call('ZADD', P .. 'dedupe_open:' .. step.dedupe, step.seq, step.id)
    end
  end
end

local function write_step_events(step)
  for i = 1, #step.events, 2 do
    add_event(step.events[i], step.id, step.lane, step.state, step.run, step.generation, step.events[i + 1])
  end
end

local function write_new(step, place)
  local key = P .. 't:' .. step.id
  call('HSET', key, 'seq', step.seq, 'bytes', step.bytes, 'place', whole(place), unpack(step.fields))
  call('SET', P .. 'b:' .. step.id, step.body)
  if step.result_op == '=' then
    call('SET', P .. 'r:' .. step.id, step.result)
    call('HSET', key, 'result', 1)
  end
  call('XADD', P .. 'tasks', step.seq .. '-0', 't', step.id)
  if step.request ~= '' then call('SET', P .. 'request:' .. step.request, step.id) end
  if step.spawner ~= '' then call('ZADD', P .. 'children:' .. step.spawner, step.seq, step.id) end
  for _, tag in ipairs(step.tags) do call('ZADD', P .. 'tag:' .. tag, step.seq, step.id) end
  for _, parent in ipairs(step.parents) do call('ZADD', P .. 'dependents:' .. parent, step.seq, step.id) end
  if step.dedupe ~= '' then call('ZADD', P .. 'dedupe:' .. step.dedupe, step.seq, step.id) end
  enter_state(step, place)
  write_indexes(step)
  write_step_events(step)
  count(step.lane, step.state, 1)
  count_bytes(step.state, step.bytes)
end

-- generation|worker|started|ended|rest, as run_text.cc writes it.
local function end_run(step, old)
  if step.run_end == '' then return end
  call('RPUSH', P .. 'h:' .. step.id,
       (old.worker or '') .. '|' .. (old.started or '0') .. '|' .. NOW_TEXT .. '|' .. step.run_end)
end

local function result_growth(step, old)
  if step.result_op == '' then return 0 end
  local key = P .. 'r:' .. step.id
  local before = old.result and call('STRLEN', key) or 0
  if step.result_op == '=' then call('SET', key, step.result) else call('DEL', key) end
  return #step.result - before
end

local function write_stored(step, place)
  local old = step.old
  local key = P .. 't:' .. step.id
  local stays = step.state == 'running' and old.state == 'running'
  -- A step that does not concern its place: it stands where it stood.
  local stands = IS_WAITING[old.state] and IS_WAITING[step.state] and not step.needs_place or
                 IS_TERMINAL[old.state] and IS_TERMINAL[step.state]
  step.seq = old.seq
  local bytes = tonumber(old.bytes) + result_growth(step, old)
  if step.body ~= '' then
    bytes = bytes - call('STRLEN', P .. 'b:' .. step.id) + #step.body
    call('SET', P .. 'b:' .. step.id, step.body)
  end
  local kept = stays and call('HMGET', key, unpack(KEPT))
  call('DEL', key)
  local result = step.result_op == '=' or (step.result_op == '' and old.result)
  if result then
    call('HSET', key, 'seq', old.seq, 'bytes', whole(bytes), 'place', whole(place), 'result', 1,
         unpack(step.fields))
  else
    call('HSET', key, 'seq', old.seq, 'bytes', whole(bytes), 'place', whole(place), unpack(step.fields))
  end
  if old.checkpoint then call('HSET', key, 'checkpoint', 1) end
  if stays then
    -- They go on while the lease stays.
    if old.beats then call('HSET', key, 'beats', old.beats) end
    for i, name in ipairs(KEPT) do
      if kept[i] then call('HSET', key, name, kept[i]) end
    end
  end
  if not stays and not stands then
    leave_state(step, old)
    enter_state(step, place)
  end
  write_indexes(step, old.deadline, old.cascade)
  end_run(step, old)
  write_step_events(step)
  count(old.lane, old.state, -1)
  count(step.lane, step.state, 1)
  count_bytes(old.state, -tonumber(old.bytes))
  count_bytes(step.state, bytes)
end

function steps.write_gate(gate)
  if gate.op == 'w' then
    flush_writes()
    gates.put(gate.name, gate.record, gate.limits)
  end
  for i = 1, #gate.events, 2 do add_event(gate.events[i], '', '|||||', '', '', '', gate.events[i + 1]) end
end

-- Numbers for what needs them, given out in one go: the one before the first.
local function reserve(kind, n)
  return n > 0 and call('HINCRBY', P .. 'seq', kind, n) - n or 0
end

local function write(group)
  for _, gate in ipairs(group.gates) do steps.write_gate(gate) end
  local places, seqs = 0, 0
  for _, step in ipairs(group.steps) do
    if step.needs_place then places = places + 1 end
    if step.expected == 0 then seqs = seqs + 1 end
  end
  local place, seq = reserve('place', places), reserve('task', seqs)
  for _, step in ipairs(group.steps) do
    if step.needs_place then
      place = place + 1
      step.place = place
    end
    if step.expected == 0 then
      seq = seq + 1
      step.seq = whole(seq)
      write_new(step, step.place)
    else
      write_stored(step, step.place)
    end
  end
end

-- args: now, number of groups, groups…
function functions.apply(keys, args)
  begin(keys, args)
  lanes.start()
  steps.start_writes()
  read_from(args, 2)
  local verdicts = {}
  for i = 1, take_number() do
    local group = take_group()
    verdicts[i] = check(group)
    if verdicts[i] == DONE then write(group) end
  end
  flush_writes()
  lanes.tell_pools()
  finish()
  return verdicts
end
