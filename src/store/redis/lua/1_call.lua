-- One call of a function: where its keys are, what time it is, what it was given, and what is written once at its end.
-- Before it stand what C++ says (LIBRARY, VERSION, TEST_CLOCK, STATES, IS_STATE, IS_TERMINAL, INNER_RESULT_MAX, DEFAULT_LIMITS) and the keys. See
-- library.cc, which also puts every file but the shared ones into a function of its own: Lua allows 200 names in one.

local functions = {}  -- what can be called from outside; b_register.lua gives them their names
-- What those files lend to others.
local lease_clock, kept, event, epoch, gates, lanes, steps, reads, findings, ledger, questions, budgets =
  {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}

local call    -- redis.call, which is not there yet while the library loads
local NOW     -- milliseconds since 1970, by this server's clock; for leases see 1_clock.lua
local NOW_TEXT
local moves   -- changes of the number of tasks: lane -> state -> number
local moved_bytes  -- and of what they keep: state -> bytes
local events  -- waiting to be numbered: name|task|lane (six parts)|state|run|generation|data; or {text = such a text with * for
              -- the task, ids…}: the same of many tasks
local held    -- the strings that this call has read or written: key -> text, or false if there is none
local unsaved -- the keys of those that it has changed
local writes  -- key, text, …: strings that are written before those
local numbers -- the last of each kind that was given out, once one is asked for
local soonest -- when the first of what this call has put on a date is due
local listed  -- new tasks, in the order of their numbers
local lane_parts, lane_parts_size  -- lane -> its name taken apart, with the names of its keys; so that it is done once
local line_parts, line_parts_size  -- the same of lines
local PARTS_MAX = 4000
local BAND = 1e14  -- of virtual times, per rank, in the score of a group

local IS_WAITING = {pending = true, stalled = true}
local GROUP = 'ade-workers'

local function begin(keys, args)
  call = redis.call
  if P ~= keys[1] then
    put_prefix(keys[1])
    lane_parts, lane_parts_size, line_parts, line_parts_size = {}, 0, {}, 0
  end
  moves, moved_bytes, events, held, unsaved, writes, numbers, listed, soonest = {}, {}, {}, {}, {}, {}, nil, {}, nil
  questions.moves = {}
  kept.start()
  if TEST_CLOCK then
    local time, lease_time = string.match(args[1], '^(%d+) ?(%d*)$')
    NOW = tonumber(time)
    lease_clock.start(lease_time)
  else
    local time = call('TIME')
    NOW = time[1] * 1000 + math.floor(time[2] / 1000)
    lease_clock.start(args[1])
  end
  NOW_TEXT = string.format('%d', NOW)
end

-- A whole number as text.
local function whole(number)
  return string.format('%d', number)
end

-- In pieces, because a call takes a bounded number of arguments. An even number of them, so that pairs stay together.
local PIECE = 2000

local function call_in_pieces(command, key, list)
  for from = 1, #list, PIECE do call(command, key, unpack(list, from, math.min(from + PIECE - 1, #list))) end
end

-- ---- strings: read once and written once in a call

local function fetch(keys)
  local missing = {}
  for i = 1, #keys do
    if held[keys[i]] == nil then missing[#missing + 1] = keys[i] end
  end
  for from = 1, #missing, PIECE do
    local found = call('MGET', unpack(missing, from, math.min(from + PIECE - 1, #missing)))
    for i = 1, #found do held[missing[from + i - 1]] = found[i] end
  end
end

-- False if there is none, or if it is no string: somebody else wrote there.
local function get(key)
  local text = held[key]
  if text == nil then
    text = call('MGET', key)[1]
    held[key] = text
  end
  return text
end

-- One that is not asked for again.
local function get_once(key)
  local text = get(key)
  held[key] = nil
  return text
end

-- False: it goes.
local function put(key, text)
  held[key] = text
  unsaved[#unsaved + 1] = key
end

local function save_strings()
  local texts, gone = writes, {}
  for i = 1, #unsaved do
    local key = unsaved[i]
    local text = held[key]
    if text then
      texts[#texts + 1] = key
      texts[#texts + 1] = text
    else
      gone[#gone + 1] = key
    end
  end
  for from = 1, #texts, PIECE do call('MSET', unpack(texts, from, math.min(from + PIECE - 1, #texts))) end
  for from = 1, #gone, PIECE do call('DEL', unpack(gone, from, math.min(from + PIECE - 1, #gone))) end
  unsaved, writes = {}, {}
end

-- A line's keys. It is Q, Q|T, or GATE||Q of parked lanes.
local function line_of(line)
  local parts = line_parts[line]
  if parts then return parts end
  local queue = string.match(line, '^[^|]+')
  local parked_queue = string.match(line, '||([^|]+)$')
  parts = {name = line, key = KEY.line .. line, oldest = KEY.oldest .. line, vt = KEY.vt .. (parked_queue or queue),
           served = 'served:' .. line, is_open = not parked_queue, groups = {}}
  if line_parts_size >= PARTS_MAX then line_parts, line_parts_size = {}, 0 end
  line_parts[line] = parts
  line_parts_size = line_parts_size + 1
  return parts
end

-- A group of a line: its key, its rank, and where that begins among the scores.
local function group_in(line, group)
  local parts = line.groups[group]
  if parts then return parts end
  local rank = string.sub(group, 1, 1)
  parts = {key = KEY.group .. line.name .. '|' .. group, rank = rank, band = rank * BAND}
  if line_parts_size >= PARTS_MAX then line_parts, line_parts_size = {}, 0 end
  line.groups[group] = parts
  line_parts_size = line_parts_size + 1
  return parts
end

-- A lane's name, taken apart: queue|rank|owner|type|cost|gate,gate
local function parts_of(lane)
  local parts = lane_parts[lane]
  if parts then return parts end
  local queue, rank, owner, type, cost, own = string.match(lane, '^([^|]+)|(%d)|([^|]+)|([^|]+)|(%d+)|([^|]*)$')
  if not queue then return nil end
  local gates = {'all', 'queue:' .. queue, 'type:' .. type, 'owner:' .. owner}
  for gate in string.gmatch(own, '[^,]+') do gates[#gates + 1] = gate end
  local group, lines = rank .. '|' .. owner, {queue, queue .. '|' .. type}
  parts = {queue = queue, rank = tonumber(rank), rank_text = rank, owner = owner, type = type, cost = tonumber(cost),
           gates = gates, group = group, lines = lines, fields = {}, key = KEY.lane .. lane, vt = KEY.vt .. queue,
           groups = {KEY.group .. lines[1] .. '|' .. group, KEY.group .. lines[2] .. '|' .. group}}
  if lane_parts_size >= PARTS_MAX then lane_parts, lane_parts_size = {}, 0 end
  lane_parts[lane] = parts
  lane_parts_size = lane_parts_size + 1
  return parts
end

local function move(lane, state, tasks, bytes)
  local states = moves[lane]
  if not states then
    states = {}
    moves[lane] = states
  end
  states[state] = (states[state] or 0) + tasks
  moved_bytes[state] = (moved_bytes[state] or 0) + bytes
end

-- Where a task of a lane in that state is counted.
local function fields_of(parts, state)
  local fields = parts.fields[state]
  if not fields then
    fields = {'all|' .. state, 'owner:' .. parts.owner .. '|' .. state, 'queue:' .. parts.queue .. '|' .. state,
              'line:' .. parts.lines[2] .. '|' .. state, 'own:' .. parts.owner .. '|' .. parts.queue .. '|' .. state}
    parts.fields[state] = fields
  end
  return fields
end

local function write_counts()
  kept.know()
  local key = KEY.counts
  for lane, states in pairs(moves) do
    local parts = parts_of(lane)
    for state, tasks in pairs(states) do
      if tasks ~= 0 then kept.add(key, fields_of(parts, state), tasks) end
    end
  end
  for state, bytes in pairs(moved_bytes) do
    if bytes ~= 0 then kept.add(key, {'bytes|' .. state}, bytes) end
  end
  for field, n in pairs(questions.moves) do
    if n ~= 0 then kept.add(key, {field}, n) end
  end
  moves, moved_bytes, questions.moves = {}, {}, {}
end

-- What stands in the counts, with what this call has changed so far: field -> number, or false.
local function counted(fields)
  write_counts()
  return kept.fields(KEY.counts, fields)
end

-- ---- numbers, and what is kept under them

local function version_number(text)
  local major, minor = string.match(text, '^(%d+)%.(%d+)$')
  return (tonumber(major) or 0) * 1e6 + (tonumber(minor) or 0)
end

-- This library is older than the one that the store requires: whoever has a newer one loads it, nobody else goes on.
local function refuse_newer(required)
  if version_number(required) > version_number(VERSION) then
    error('LIBRARYOLD the store requires library ' .. required .. ', this is ' .. VERSION)
  end
end

local function read_numbers()
  local found = call('HMGET', KEY.seq, 'task', 'place', 'event', 'stamp', 'sweep_at', 'library', 'lease_now')
  if found[6] and found[6] ~= VERSION then refuse_newer(found[6]) end
  numbers = {task = tonumber(found[1] or 0), place = tonumber(found[2] or 0), event = tonumber(found[3] or 0), stamp = found[4],
             sweep_at = tonumber(found[5] or 0), lease_now = found[7]}
end

-- A sweeper has to look at that time.
local function due_at(time)
  if not soonest or time < soonest then soonest = time end
end

-- Whether the one that sweeps would sleep too long; if so, whichever process listens is woken, once.
local function wakes_sweeper()
  if not soonest then return false end
  if not numbers then read_numbers() end
  return soonest < numbers.sweep_at
end

-- The next n numbers of a kind; answers the one before them.
local function number_before(kind, n)
  if not numbers then read_numbers() end
  local before = numbers[kind]
  numbers[kind], numbers.are_moved = before + n, true
  return before
end

local function write_numbers(stamp)
  local texts = stamp and {'stamp', stamp} or {}
  local lease_now = lease_clock.unsaved()
  if lease_now then texts[#texts + 1], texts[#texts + 2] = 'lease_now', lease_now end
  if wakes_sweeper() then
    redis.pcall('RPUSH', KEY.sweep_tokens, '1')  -- a hint: whoever listens finds out if it cannot be given
    texts[#texts + 1] = 'sweep_at'
    texts[#texts + 1] = whole(soonest)
  end
  if numbers and numbers.are_moved then
    for _, kind in ipairs({'task', 'place', 'event'}) do
      texts[#texts + 1] = kind
      texts[#texts + 1] = whole(numbers[kind])
    end
  end
  call_in_pieces('HSET', KEY.seq, texts)
  numbers = nil
end

local ENTRY_MAX = 100

-- Values under growing numbers, many to an entry, whose id is the number of its last one.
local function append(stream, before, name, values)
  for from = 1, #values, ENTRY_MAX do
    local entry = {}
    local till = math.min(from + ENTRY_MAX - 1, #values)
    for i = from, till do
      entry[#entry + 1] = name
      entry[#entry + 1] = values[i]
    end
    call('XADD', stream, whole(before + till) .. '-0', unpack(entry))
  end
end

local function number_of(entry)
  return tonumber(string.match(entry[1], '^%d+'))
end

-- The tasks' records after what says where they are: if a call breaks off on damage, that is made anew from the records.
local function finish()
  write_counts()
  local stamp = kept.finish()
  save_strings()
  event.append()
  if #listed > 0 then append(KEY.tasks, numbers.task - #listed, 't', listed) end
  write_numbers(stamp)
  events, listed = {}, {}
end
