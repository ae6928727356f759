-- Reading. None of these writes.

function functions.clock(keys, args)
  begin(keys, args)
  return whole(NOW)
end

-- A record: {fields, body, result, checkpoint}; only the fields where the head is enough. False if there is none.
local function record_of(id, whole_record)
  local fields, flat = read_hash(P .. 't:' .. id)
  if not fields or not fields.state then return false end
  table.insert(flat, 1, id)
  if not whole_record then return {flat} end
  return {flat, call('GET', P .. 'b:' .. id), fields.result and call('GET', P .. 'r:' .. id) or false,
          fields.checkpoint and call('GET', P .. 'c:' .. id) or false}
end

function reads.records_of(ids, whole_record)
  local records = {}
  for _, id in ipairs(ids) do
    local record = record_of(id, whole_record)
    if record then records[#records + 1] = record end
  end
  return records
end

-- Of tasks that an index names, so that they must be there: one that is not is answered by its id alone, which nobody can
-- read either, and is put apart for it.
function reads.indexed_records(ids, whole_record)
  local records = {}
  for i, id in ipairs(ids) do records[i] = record_of(id, whole_record) or {{id}} end
  return records
end

-- args: now, 'head' or 'all', ids…
function functions.read(keys, args)
  begin(keys, args)
  local records = {}
  for i = 3, #args do records[i - 2] = record_of(args[i], args[2] == 'all') end
  return records
end

-- args: now, 'dependents' or 'children', id. Heads, oldest first.
function functions.relatives(keys, args)
  begin(keys, args)
  return reads.records_of(call('ZRANGE', P .. args[2] .. ':' .. args[3], 0, -1), false)
end

-- args: now, owner|request id
function functions.find_request(keys, args)
  begin(keys, args)
  return call('GET', P .. 'request:' .. args[2])
end

local DEDUPE_MAX = 16

-- args: now, owner|type|key. Answers {newest or false, unfinished…}.
function functions.find_dedupe(keys, args)
  begin(keys, args)
  local newest = call('ZREVRANGE', P .. 'dedupe:' .. args[2], 0, 0)[1]
  local open = call('ZREVRANGE', P .. 'dedupe_open:' .. args[2], 0, DEDUPE_MAX - 1)
  return {newest and record_of(newest, true) or false, reads.records_of(open, true)}
end

local SCAN_MAX = 1000
local PAGE_BYTES = 4 * 1024 * 1024

-- Candidates newest first, before a seq: {seq, id}…
local function candidates(before, tag, spawner)
  local found = {}
  local key = spawner ~= '' and P .. 'children:' .. spawner or tag ~= '' and P .. 'tag:' .. tag or nil
  if key then
    local pairs_ = call('ZREVRANGEBYSCORE', key, '(' .. before, '-inf', 'WITHSCORES', 'LIMIT', 0, SCAN_MAX)
    for i = 1, #pairs_, 2 do found[#found + 1] = {pairs_[i + 1], pairs_[i]} end
    return found
  end
  for _, entry in ipairs(call('XREVRANGE', P .. 'tasks', '(' .. before .. '-0', '-', 'COUNT', SCAN_MAX)) do
    found[#found + 1] = {string.match(entry[1], '^%d+'), entry[2][2]}
  end
  return found
end

-- args: now, before seq, limit, type, queue, owner, states (',pending,running,' or ''), tag, spawner.
-- Answers {{seq, record}…, seq where to go on or ''}.
function functions.list(keys, args)
  begin(keys, args)
  local limit, type_, queue, owner, states, tag, spawner =
    tonumber(args[3]), args[4], args[5], args[6], args[7], args[8], args[9]
  local found = candidates(args[2], tag, spawner)
  local records, bytes = {}, 0
  for _, candidate in ipairs(found) do
    local head = redis.pcall('HMGET', P .. 't:' .. candidate[2], 'state', 'lane')
    local parts = not head.err and head[1] and head[2] and parts_of(head[2])
    if parts and (type_ == '' or parts.type == type_) and (queue == '' or parts.queue == queue) and
       (owner == '' or parts.owner == owner) and (states == '' or string.find(states, ',' .. head[1] .. ',', 1, true)) and
       (tag == '' or spawner == '' or call('ZSCORE', P .. 'tag:' .. tag, candidate[2])) then
      local record = record_of(candidate[2], true)
      records[#records + 1] = {candidate[1], record}
      bytes = bytes + #(record[2] or '') + #(record[3] or '') + #(record[4] or '')
      if #records >= limit or bytes >= PAGE_BYTES then return {records, candidate[1]} end
    end
  end
  return {records, #found == SCAN_MAX and found[#found][1] or ''}
end

-- args: now, id, limit. Answers {the record's fields, ended runs, newest last}.
function functions.runs(keys, args)
  begin(keys, args)
  return {record_of(args[2], false), call('LRANGE', P .. 'h:' .. args[2], -tonumber(args[3]), -1)}
end

-- args: now, after, limit. Answers {seq, text, seq, text…}.
function functions.read_events(keys, args)
  begin(keys, args)
  local first = tonumber(call('HGET', P .. 'seq', 'first_event')) or 1
  local after, limit = math.max(tonumber(args[2]), first - 1), tonumber(args[3])
  local found = {}
  for _, entry in ipairs(call('XRANGE', P .. 'events', '(' .. whole(after) .. '-0', '+', 'COUNT', limit)) do
    local seq = tonumber(string.match(entry[1], '^%d+')) - #entry[2] / 2
    for i = 2, #entry[2], 2 do
      seq = seq + 1
      if seq > after then
        found[#found + 1] = whole(seq)
        found[#found + 1] = entry[2][i]
        if #found >= 2 * limit then return found end
      end
    end
  end
  return found
end

function functions.last_event(keys, args)
  begin(keys, args)
  return call('HGET', P .. 'seq', 'event') or '0'
end

-- A number that is another one after anything was written that somebody may wait for.
function functions.changes(keys, args)
  begin(keys, args)
  local found = call('HMGET', P .. 'seq', 'event', 'note')
  return (found[1] or '0') .. (found[2] and '.' .. found[2] or '')
end

-- args: now, id, after, limit. Answers {pieces, totals}.
function functions.read_log(keys, args)
  begin(keys, args)
  return {call('XRANGE', P .. 'log:' .. args[2], '(' .. args[3] .. '-0', '+', 'COUNT', args[4]),
          call('HGETALL', P .. 'log_totals:' .. args[2])}
end

-- args: now, scopes… ('queue:Q' or 'line:Q|T'). Answers the tasks of each state, in the order of STATES, for each.
function functions.count_scopes(keys, args)
  begin(keys, args)
  local all = {}
  for i = 2, #args do
    local fields = {}
    for s, state in ipairs(STATES) do fields[s] = args[i] .. '|' .. state end
    local found = call('HMGET', P .. 'counts', unpack(fields))
    for s = 1, #STATES do found[s] = found[s] or '0' end
    all[#all + 1] = found
  end
  return all
end

function functions.queues(keys, args)
  begin(keys, args)
  local flat = call('HGETALL', P .. 'counts')
  local found = {}
  for i = 1, #flat, 2 do
    if string.sub(flat[i], 1, 6) == 'queue:' then
      found[#found + 1] = flat[i]
      found[#found + 1] = flat[i + 1]
    end
  end
  return found
end

local function waiting_lanes(name)
  local sum = 0
  for _, queue in ipairs(call('ZRANGE', P .. 'waits:' .. name, 0, -1)) do
    for _, group in ipairs(call('ZRANGE', P .. 'line:' .. name .. '||' .. queue, 0, -1)) do
      sum = sum + call('ZCARD', P .. 'group:' .. name .. '||' .. queue .. '|' .. group)
    end
  end
  return sum
end

local function state_of_gate(name)
  return {name, call('HGET', P .. 'gate_records', name) or '', call('HGET', P .. 'in_use', name) or '0',
          call('HGET', P .. 'rate_at', name) or '0', waiting_lanes(name)}
end

-- args: now, names…
function functions.read_gates(keys, args)
  begin(keys, args)
  local states = {}
  for i = 2, #args do states[i - 1] = state_of_gate(args[i]) end
  return states
end

-- Those that are stored or waited at, by name.
function functions.all_gates(keys, args)
  begin(keys, args)
  local names, seen = {}, {}
  for _, source in ipairs({call('HKEYS', P .. 'gate_records'), call('ZRANGE', P .. 'waited', 0, -1)}) do
    for _, name in ipairs(source) do
      if not seen[name] then
        seen[name] = true
        names[#names + 1] = name
      end
    end
  end
  table.sort(names)
  local states = {}
  for i, name in ipairs(names) do states[i] = state_of_gate(name) end
  return states
end

local AHEAD_MAX = 1000

-- args: now, id. Answers false, or {gate where its lane is parked or '', how many are before it}.
function functions.standing(keys, args)
  begin(keys, args)
  local found = redis.pcall('HMGET', P .. 't:' .. args[2], 'state', 'lane', 'place')
  if found.err or not found[1] or not IS_WAITING[found[1]] then return false end
  local where = where_is(found[2])
  if not where then return false end
  local key = P .. 'lane:' .. found[2]
  local place = tonumber(found[3])
  local ahead = 0
  if where.returned > 0 then
    ahead = #call('XPENDING', key, GROUP, '-', string.format('(%.0f-0', place), AHEAD_MAX, 'returned')
  end
  if place > where.last then
    ahead = ahead + #call('XRANGE', key, string.format('(%.0f-0', where.last), string.format('(%.0f-0', place), 'COUNT',
                          AHEAD_MAX)
  end
  return {where.gate, math.min(ahead, AHEAD_MAX)}
end
