-- What the sweepers look for, and retention.

-- Those whose time has come by that clock; of one moment the older task first, as every store has it.
local function first_of(key, now, limit)
  local flat = call('ZRANGEBYSCORE', key, '-inf', whole(now), 'WITHSCORES', 'LIMIT', 0, limit)
  local ids, due = {}, {}
  for i = 1, #flat, 2 do ids[#ids + 1] = flat[i] end
  fetch_records(ids)
  for i, id in ipairs(ids) do
    local record = record_of(id)
    due[i] = {id, tonumber(flat[2 * i]), record and tonumber(record.seq) or 0}
  end
  table.sort(due, function(a, b) return a[2] < b[2] or (a[2] == b[2] and a[3] < b[3]) end)
  for i, one in ipairs(due) do ids[i] = one[1] end
  return ids
end

-- args: now, limit
function functions.due(keys, args)
  begin(keys, args)
  return reads.indexed_answers(first_of(KEY.scheduled, NOW, args[2]), 'head')
end

-- args: now, limit
function functions.past_deadline(keys, args)
  begin(keys, args)
  return reads.indexed_answers(first_of(KEY.deadlines, NOW, args[2]), 'all')
end

-- args: now, silent for ('' or milliseconds), limit
function functions.lapsed(keys, args)
  begin(keys, args)
  local now = lease_clock.now()
  lease_clock.save()
  if args[2] == '' then return reads.indexed_answers(first_of(KEY.leases, now, args[3]), 'head') end
  local silent_since = now - tonumber(args[2])
  local limit = tonumber(args[3])
  local flat = call('ZRANGE', KEY.leases, 0, -1, 'WITHSCORES')
  local ids, found = {}, {}
  for i = 1, #flat, 2 do ids[#ids + 1] = flat[i] end
  fetch_records(ids)
  for i, id in ipairs(ids) do
    local record = record_of(id)
    if tonumber(flat[2 * i]) <= now or (record and tonumber(record.renewed) <= silent_since) then found[#found + 1] = id end
    if #found >= limit then break end
  end
  return reads.indexed_answers(found, 'head')
end

-- args: now, limit
function functions.cascades(keys, args)
  begin(keys, args)
  return reads.indexed_answers(call('ZRANGE', KEY.cascades, 0, tonumber(args[2]) - 1), 'head')
end

-- Milliseconds until the next of these is due, nil if nothing waits.
local function next_due()
  local soonest
  for _, key in ipairs({KEY.scheduled, KEY.deadlines, KEY.leases, KEY.wake}) do
    local first_ = call('ZRANGE', key, 0, 0, 'WITHSCORES')[2]
    local left = first_ and tonumber(first_) - (key == KEY.leases and lease_clock.now() or NOW)
    if left and (not soonest or left < soonest) then soonest = left end
  end
  if call('ZCARD', KEY.cascades) > 0 or call('EXISTS', KEY.damaged_lanes) == 1 or call('HGET', KEY.bulk, 'due') == '1' then
    soonest = 0
  end
  return soonest
end

-- The same; '' if nothing waits.
function functions.next_wake(keys, args)
  begin(keys, args)
  local left = next_due()
  return left and whole(math.max(0, left)) or ''
end

-- One process sweeps for all. It says how long it will sleep: whatever is due sooner wakes a process that listens, and that
-- one sweeps from then on. If it is late, the next one that asks takes its place.
-- args: now, who asks, 1 if it was woken, how long it sleeps at most, how late it may be
-- Answers {1, milliseconds until something is due}, or {0, until the one that sweeps may be gone}.
function functions.sweep_turn(keys, args)
  begin(keys, args)
  lease_clock.now()
  lease_clock.save()  -- whoever sweeps, or is ready to, keeps it going, so that those who come later know it
  local sleeps, late = tonumber(args[4]), tonumber(args[5])
  local found = call('HMGET', KEY.seq, 'sweeper', 'sweeper_until')
  local left = (tonumber(found[2] or 0)) - NOW
  local is_others = found[1] and found[1] ~= args[2] and left > 0 and left <= sleeps + late
  if is_others and args[3] ~= '1' then return {0, left} end
  local rest = math.min(math.max(0, next_due() or sleeps), sleeps)
  call('HSET', KEY.seq, 'sweeper', args[2], 'sweeper_until', whole(NOW + rest + late), 'sweep_at', whole(NOW + rest))
  call('DEL', KEY.sweep_tokens)
  epoch.check()
  return {1, rest}
end

-- args: now, who sweeps no more
function functions.end_sweeping(keys, args)
  begin(keys, args)
  if call('HGET', KEY.seq, 'sweeper') ~= args[2] then return 0 end
  call('HDEL', KEY.seq, 'sweeper', 'sweeper_until')
  call('RPUSH', KEY.sweep_tokens, '1')
  return 1
end

-- Answers how many lanes it let go; -1 if a lane has to be rebuilt first.
function functions.wake_gates(keys, args)
  begin(keys, args)
  if call('EXISTS', KEY.damaged_lanes) == 1 then return -1 end
  lanes.start()
  local woken = lanes.wake_gates()
  lanes.tell_pools()
  finish()
  return woken
end

-- A record that was answered and could not be read.
local function quarantine(id)
  if call('SISMEMBER', KEY.quarantine, id) == 1 then return end
  put_apart(id)
  local record = record_of(id)
  if not record then return end
  if record.state == 'running' then
    gates.release(parts_of(record.lane), {tonumber(record.started)})
    if gates.limits(parts_of(record.lane)).has_budgets then budgets.recount() end
    lanes.drop(record.lane, {record.place})
  elseif IS_WAITING[record.state] then
    lanes.remove(record.lane, tonumber(record.place))
  end
end

-- args: now, ids…
function functions.quarantine(keys, args)
  begin(keys, args)
  lanes.start()
  for i = 2, #args do quarantine(args[i]) end
  lanes.tell_pools()
  finish()
  return #args - 1
end

-- ---- retention

local function all_finished(scope)
  local fields, sum = {scope .. '|completed', scope .. '|failed', scope .. '|cancelled'}, 0
  local stored = counted(fields)
  for i = 1, #fields do sum = sum + (stored[fields[i]] or 0) end
  return sum
end

-- The first one to stay ends the search, so that no hole is torn when the clock has jumped.
local function first_event_to_keep(limit, until_, most)
  local first_by_number = (tonumber(call('HGET', KEY.seq, 'event')) or 0) - most + 1
  local keep
  for _, entry in ipairs(call('XRANGE', KEY.events, '-', '+', 'COUNT', limit)) do
    local fields, last = entry[2], number_of(entry)
    local first = last - event.number_in(entry) + 1
    local is_young = tonumber(fields[2]) > until_
    if is_young and first >= first_by_number then return keep end
    if is_young and last >= first_by_number then return first_by_number end
    keep = last + 1
  end
  return keep
end

local function expire_events(limit, until_, most)
  local keep = first_event_to_keep(limit, until_, most)
  if not keep then return end
  call('XTRIM', KEY.events, 'MINID', '=', whole(keep) .. '-0')
  call('HSET', KEY.seq, 'first_event', whole(keep))
end

-- Whether an unfinished task depends on it: its result is still to be read.
local function is_needed(id, record)
  if not rest_of(record).dependents then return false end
  local dependents = call('ZRANGE', KEY.dependents .. id, 0, -1)
  fetch_records(dependents)
  for _, dependent in ipairs(dependents) do
    local other = record_of(dependent)
    if other and not IS_TERMINAL[other.state] then return true end
  end
  return false
end

-- Behind those that stay others may have to go: so many of them are passed over.
local PASSED_MAX = 10000

-- The oldest of the finished tasks go, at most `limit`, while one is too old or there are too many. Answers how many went.
local function expire_tasks(limit, until_, tasks_max, bytes_max)
  local tasks, bytes = all_finished('all'), all_finished('bytes')
  local gone, passed = 0, 0
  while gone < limit and passed < PASSED_MAX do
    local id = call('ZRANGE', KEY.finished, passed, passed)[1]
    if not id then return gone end
    local too_many = tasks > tasks_max or bytes > bytes_max
    if tonumber(call('ZSCORE', KEY.finished, id)) > until_ and not too_many then return gone end
    local record = record_of(id)
    -- One whose dependents are not all told stays until they are.
    if not record then
      put_apart(id)
    elseif record.cascade ~= '0' or not too_many and is_needed(id, record) then
      passed = passed + 1
    else
      steps.delete_task(id, record)
      events[#events + 1] = 'task.deleted|' .. id .. '|' .. record.lane .. '|' .. record.state .. '|' .. record.run .. '|' ..
                            record.generation .. '|{}'
      bytes = bytes - tonumber(record.bytes)
      tasks = tasks - 1
      gone = gone + 1
    end
  end
  return gone
end

-- args: now, when the youngest of those ended that are too old, tasks, bytes, the same of events, events, limit, the first day
-- of the ledger that stays. Answers how many tasks went.
function functions.expire(keys, args)
  begin(keys, args)
  local limit = tonumber(args[7])
  local gone = expire_tasks(limit, tonumber(args[2]), tonumber(args[3]), tonumber(args[4]))
  finish()
  expire_events(limit * 10, tonumber(args[5]), tonumber(args[6]))
  ledger.forget_before(args[8])
  return gone
end
