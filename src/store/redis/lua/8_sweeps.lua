-- What the sweepers look for, and retention.

-- Those whose time has come; of one moment the older task first, as every store has it.
local function first_of(key, limit)
  local flat = call('ZRANGEBYSCORE', P .. key, '-inf', whole(NOW), 'WITHSCORES', 'LIMIT', 0, limit)
  local due = {}
  for i = 1, #flat, 2 do
    local seq = redis.pcall('HGET', P .. 't:' .. flat[i], 'seq')
    due[#due + 1] = {flat[i], tonumber(flat[i + 1]), type(seq) == 'string' and tonumber(seq) or 0}
  end
  table.sort(due, function(a, b) return a[2] < b[2] or (a[2] == b[2] and a[3] < b[3]) end)
  local ids = {}
  for i, one in ipairs(due) do ids[i] = one[1] end
  return ids
end

-- args: now, limit
function functions.due(keys, args)
  begin(keys, args)
  return reads.indexed_records(first_of('scheduled', args[2]), false)
end

-- args: now, limit
function functions.past_deadline(keys, args)
  begin(keys, args)
  return reads.indexed_records(first_of('deadlines', args[2]), true)
end

-- args: now, silent for ('' or milliseconds), limit
function functions.lapsed(keys, args)
  begin(keys, args)
  if args[2] == '' then return reads.indexed_records(first_of('leases', args[3]), false) end
  local silent_since = NOW - tonumber(args[2])
  local limit = tonumber(args[3])
  local found = {}
  for _, id in ipairs(call('ZRANGE', P .. 'leases', 0, -1)) do
    local renewed = redis.pcall('HGET', P .. 't:' .. id, 'renewed')
    local until_ = tonumber(call('ZSCORE', P .. 'leases', id))
    if until_ <= NOW or (type(renewed) == 'string' and tonumber(renewed) <= silent_since) then found[#found + 1] = id end
    if #found >= limit then break end
  end
  return reads.indexed_records(found, false)
end

-- args: now, limit
function functions.cascades(keys, args)
  begin(keys, args)
  return reads.indexed_records(call('ZRANGE', P .. 'cascades', 0, tonumber(args[2]) - 1), false)
end

-- Milliseconds until the next of these is due, '' if nothing waits.
function functions.next_wake(keys, args)
  begin(keys, args)
  local soonest
  for _, key in ipairs({'scheduled', 'deadlines', 'leases', 'wake'}) do
    local first_ = call('ZRANGE', P .. key, 0, 0, 'WITHSCORES')[2]
    if first_ and (not soonest or tonumber(first_) < soonest) then soonest = tonumber(first_) end
  end
  if call('ZCARD', P .. 'cascades') > 0 or call('EXISTS', P .. 'damaged_lanes') == 1 then soonest = NOW end
  return soonest and whole(math.max(0, soonest - NOW)) or ''
end

-- Answers how many lanes it let go; -1 if a lane has to be rebuilt first.
function functions.wake_gates(keys, args)
  begin(keys, args)
  if call('EXISTS', P .. 'damaged_lanes') == 1 then return -1 end
  lanes.start()
  local woken = lanes.wake_gates()
  lanes.tell_pools()
  return woken
end

-- A record that was answered and could not be read.
local function quarantine(id)
  local fields = read_hash(P .. 't:' .. id)
  if call('SISMEMBER', P .. 'quarantine', id) == 1 then return end
  put_apart(id)
  if not fields or not is_sound(fields) then return end
  if fields.state == 'running' then
    gates.release(parts_of(fields.lane), {tonumber(fields.started)})
    lanes.drop(fields.lane, {tonumber(fields.place)})
  elseif IS_WAITING[fields.state] then
    lanes.remove(fields.lane, tonumber(fields.place))
  end
end

-- args: now, ids…
function functions.quarantine(keys, args)
  begin(keys, args)
  lanes.start()
  for i = 2, #args do quarantine(args[i]) end
  lanes.tell_pools()
  return #args - 1
end

-- ---- retention

local function delete_task(id, fields)
  local parts = parts_of(fields.lane)
  -- The first line of a body: tags|parents|…
  local tags, parents = string.match(call('GET', P .. 'b:' .. id) or '', '^([^|\n]*)|([^|\n]*)|')
  for _, kind in ipairs({'t:', 'b:', 'r:', 'c:', 'h:', 'log:', 'log_totals:', 'children:', 'dependents:'}) do
    call('DEL', P .. kind .. id)
  end
  call('XDEL', P .. 'tasks', fields.seq .. '-0')
  call('ZREM', P .. 'finished', id)
  if fields.deadline then call('ZREM', P .. 'deadlines', id) end
  if fields.request_id then call('DEL', P .. 'request:' .. parts.owner .. '|' .. fields.request_id) end
  if fields.parent_id then call('ZREM', P .. 'children:' .. fields.parent_id, id) end
  if fields.dedupe_key then
    call('ZREM', P .. 'dedupe:' .. parts.owner .. '|' .. parts.type .. '|' .. fields.dedupe_key, id)
  end
  for tag in string.gmatch(tags or '', '[^,]+') do call('ZREM', P .. 'tag:' .. tag, id) end
  for parent in string.gmatch(parents or '', '[^,]+') do call('ZREM', P .. 'dependents:' .. parent, id) end
  local bytes = tonumber(fields.bytes)
  count(fields.lane, fields.state, -1)
  count_bytes(fields.state, -bytes)
  add_event('task.deleted', id, fields.lane, fields.state, fields.run or '0', fields.generation or '1', '{}')
  return bytes
end

local FINISHED = {'completed', 'failed', 'cancelled'}

-- The first one to stay ends the search, so that no hole is torn when the clock has jumped.
local function first_event_to_keep(limit, age, most)
  local first_by_number = (tonumber(call('HGET', P .. 'seq', 'event')) or 0) - most + 1
  local keep
  for _, entry in ipairs(call('XRANGE', P .. 'events', '-', '+', 'COUNT', limit)) do
    local seq = tonumber(string.match(entry[1], '^%d+')) - #entry[2] / 2
    for i = 2, #entry[2], 2 do
      seq = seq + 1
      if tonumber(string.match(entry[2][i], '^%d+')) > NOW - age and seq >= first_by_number then return keep end
      keep = seq + 1
    end
  end
  return keep
end

local function expire_events(limit, age, most)
  local keep = first_event_to_keep(limit, age, most)
  if not keep then return end
  call('XTRIM', P .. 'events', 'MINID', '=', whole(keep) .. '-0')
  call('HSET', P .. 'seq', 'first_event', whole(keep))
end

-- args: now, age, tasks, bytes, event age, events, limit. Answers how many tasks went.
function functions.expire(keys, args)
  begin(keys, args)
  local limit = tonumber(args[7])
  local tasks, bytes = counted('all', FINISHED), counted('bytes', FINISHED)
  local gone = 0
  for _, id in ipairs(call('ZRANGE', P .. 'finished', 0, limit - 1)) do
    local finished_at = tonumber(call('ZSCORE', P .. 'finished', id))
    if finished_at > NOW - tonumber(args[2]) and tasks <= tonumber(args[3]) and bytes <= tonumber(args[4]) then break end
    local fields = read_hash(P .. 't:' .. id)
    -- One whose dependents are not all told stays until they are.
    if not fields or not is_sound(fields) then
      put_apart(id)
    elseif not fields.cascade then
      bytes = bytes - delete_task(id, fields)
      tasks = tasks - 1
      gone = gone + 1
    end
  end
  finish()
  expire_events(limit * 10, tonumber(args[5]), tonumber(args[6]))
  return gone
end
