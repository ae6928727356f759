-- One call of a function: where its keys are, what time it is, what it was given, and what is written once at its end.
-- Before this file stand three lines: LIBRARY, VERSION and TEST_CLOCK. See library.cc, which also puts every file from the
-- fourth on into a block of its own, because Lua allows 200 names in one.

local functions = {}  -- what can be called from outside; b_register.lua gives them their names

local call    -- redis.call, which is not there yet while the library loads
local P       -- prefix of every key: "{ade}:"
local NOW     -- milliseconds since 1970, by this server's clock
local NOW_TEXT
local moves   -- changes of the number of tasks: lane -> state -> number
local counts  -- the same by scope: 'all|pending' -> number; and of bytes by state
local events  -- waiting to be numbered

local STATES = {'blocked', 'scheduled', 'pending', 'running', 'stalled', 'completed', 'failed', 'cancelled'}
local IS_STATE = {blocked = true, scheduled = true, pending = true, running = true, stalled = true, completed = true,
                  failed = true, cancelled = true}
local IS_WAITING = {pending = true, stalled = true}
local IS_TERMINAL = {completed = true, failed = true, cancelled = true}
local GROUP = 'ade-workers'

local function begin(keys, args)
  call = redis.call
  P = keys[1]
  moves, counts, events = {}, {}, {}
  if args[1] ~= '' then
    if not TEST_CLOCK then error('this library takes no time from outside') end
    NOW = tonumber(args[1])
  else
    local time = call('TIME')
    NOW = time[1] * 1000 + math.floor(time[2] / 1000)
  end
  NOW_TEXT = string.format('%.0f', NOW)
end

-- A lane's name, taken apart: queue|rank|owner|type|cost|gate,gate
local lane_parts = {}
local lane_parts_size = 0

local function parts_of(lane)
  local parts = lane_parts[lane]
  if parts then return parts end
  local queue, rank, owner, type, cost, own = string.match(lane, '^([^|]+)|(%d)|([^|]+)|([^|]+)|(%d+)|([^|]*)$')
  if not queue then return nil end
  local gates = {'all', 'queue:' .. queue, 'type:' .. type, 'owner:' .. owner}
  for gate in string.gmatch(own, '[^,]+') do gates[#gates + 1] = gate end
  parts = {queue = queue, rank = tonumber(rank), owner = owner, type = type, cost = tonumber(cost), gates = gates,
           group = rank .. '|' .. owner, lines = {queue, queue .. '|' .. type}}
  if lane_parts_size >= 10000 then
    lane_parts = {}
    lane_parts_size = 0
  end
  lane_parts[lane] = parts
  lane_parts_size = lane_parts_size + 1
  return parts
end

local function count(lane, state, tasks)
  local states = moves[lane]
  if not states then
    states = {}
    moves[lane] = states
  end
  states[state] = (states[state] or 0) + tasks
end

local function count_bytes(state, bytes)
  if bytes == 0 then return end
  local field = 'bytes|' .. state
  counts[field] = (counts[field] or 0) + bytes
end

local function sum_moves()
  for lane, states in pairs(moves) do
    local parts = parts_of(lane)
    local scopes = {'all|', 'owner:' .. parts.owner .. '|', 'queue:' .. parts.queue .. '|', 'line:' .. parts.lines[2] .. '|'}
    for state, tasks in pairs(states) do
      for _, scope in ipairs(scopes) do
        local field = scope .. state
        counts[field] = (counts[field] or 0) + tasks
      end
    end
  end
  moves = {}
end

-- What stands in the counts, with what this call has changed so far.
local function counted(scope, states)
  sum_moves()
  local fields = {}
  for i, state in ipairs(states) do fields[i] = scope .. '|' .. state end
  local sum = 0
  for i, stored in ipairs(call('HMGET', P .. 'counts', unpack(fields))) do
    sum = sum + (tonumber(stored) or 0) + (counts[fields[i]] or 0)
  end
  return sum
end

-- at|name|task|lane (six parts)|state|run|generation|data
local function add_event(name, id, lane, state, run, generation, data)
  events[#events + 1] = NOW_TEXT .. '|' .. name .. '|' .. id .. '|' .. lane .. '|' .. state .. '|' .. run .. '|' ..
                        generation .. '|' .. data
end

local function write_counts()
  sum_moves()
  local fields, changes = {}, {}
  for field, change in pairs(counts) do
    if change ~= 0 then
      fields[#fields + 1] = field
      changes[#changes + 1] = change
    end
  end
  if #fields == 0 then return end
  local stored = call('HMGET', P .. 'counts', unpack(fields))
  local written, gone = {}, {}
  for i, field in ipairs(fields) do
    local value = (tonumber(stored[i]) or 0) + changes[i]
    if value == 0 then
      gone[#gone + 1] = field
    else
      written[#written + 1] = field
      written[#written + 1] = string.format('%.0f', value)
    end
  end
  if #written > 0 then call('HSET', P .. 'counts', unpack(written)) end
  if #gone > 0 then call('HDEL', P .. 'counts', unpack(gone)) end
end

local EVENTS_PER_ENTRY = 100

-- An entry holds the events of one call, under the number of its last one.
local function write_events()
  if #events == 0 then return end
  local last = call('HINCRBY', P .. 'seq', 'event', #events) - #events
  for from = 1, #events, EVENTS_PER_ENTRY do
    local entry = {}
    for i = from, math.min(from + EVENTS_PER_ENTRY - 1, #events) do
      entry[#entry + 1] = 'e'
      entry[#entry + 1] = events[i]
      last = last + 1
    end
    call('XADD', P .. 'events', string.format('%.0f-0', last), unpack(entry))
  end
  events = {}
end

local function finish()
  write_counts()
  write_events()
end

local function whole(number)
  return string.format('%.0f', number)
end

-- The fields of a hash by name; nil if there is none, or if it is no hash: somebody else wrote there.
local function read_hash(key)
  local flat = redis.pcall('HGETALL', key)
  if flat.err or #flat == 0 then return nil, flat end
  local fields = {}
  for i = 1, #flat, 2 do fields[flat[i]] = flat[i + 1] end
  return fields, flat
end

-- What our own arithmetic needs of a task's hash. Everything else is judged by who reads the record.
local function is_sound(fields)
  return fields.lane and parts_of(fields.lane) and IS_STATE[fields.state or ''] and tonumber(fields.rev) and
         tonumber(fields.seq) and tonumber(fields.place) and tonumber(fields.bytes) and tonumber(fields.run or 0) and
         tonumber(fields.attempts or 0) and (fields.state ~= 'running' or tonumber(fields.started))
end

-- A record that cannot be read is put apart, so that it stops nobody: out of everything that hands tasks out.
local function put_apart(id)
  call('SADD', P .. 'quarantine', id)
  for _, key in ipairs({'scheduled', 'leases', 'finished', 'deadlines', 'cascades'}) do call('ZREM', P .. key, id) end
end

-- ---- the arguments, read front to back

local given, next_given

local function read_from(args, at)
  given, next_given = args, at
end

local function take()
  next_given = next_given + 1
  return given[next_given - 1]
end

local function take_number()
  return tonumber(take())
end

local function take_list()
  local list = {}
  for i = 1, take_number() do list[i] = take() end
  return list
end
