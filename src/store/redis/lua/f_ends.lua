-- Ends: runs that ended for good, of tasks that had nothing beside their record when they were claimed. Most changes are
-- such, so that the client (ended_runs.cc) makes everything that is written, and there is next to nothing to do here.

local DONE, CONFLICT = 0, 1  -- verdicts, as in 5_steps.lua

-- of those that share a lane, a state and a gate; then of each run
local LANE, STATE, GATE, GATE_REVISION, BYTES_BEFORE, BYTES_AFTER, RUNS_N, SHARED_SIZE = 0, 1, 2, 3, 4, 5, 6, 7
local ID, WAS, RECORD, EVENT, PLACE, RUN_SIZE = 0, 1, 2, 3, 4, 5
-- EVENT has * for the task; it is empty if it is that of the run before.

local function read_records(args, from)
  local keys, texts, at = {}, {}, from
  while args[at] do
    local till = at + SHARED_SIZE + args[at + RUNS_N] * RUN_SIZE
    for run = at + SHARED_SIZE, till - 1, RUN_SIZE do keys[#keys + 1] = KEY.task .. args[run] end
    at = till
  end
  for first = 1, #keys, PIECE do
    local found = call('MGET', unpack(keys, first, math.min(first + PIECE - 1, #keys)))
    if #keys <= PIECE then return keys, found end
    for i = 1, #found do texts[first + i - 1] = found[i] end
  end
  return keys, texts
end

-- When they had started, by how their records began.
local function starts_of(began)
  local starts = {}
  for i = 1, #began do starts[i] = tonumber(records.started(began[i])) end
  return starts
end

-- So many of those that share something, whose records stand at the end of what is written.
local function move_ended(args, shared, n, began)
  local before, after = args[shared + BYTES_BEFORE], args[shared + BYTES_AFTER]
  if n < tonumber(args[shared + RUNS_N]) then
    before, after = 0, 0
    for i = 0, n - 1 do
      before, after = before + records.bytes(began[#began - i]), after + records.bytes(writes[#writes - 2 * i])
    end
  end
  move(args[shared + LANE], 'running', -n, -before)
  move(args[shared + LANE], args[shared + STATE], n, after)
end

local function leave_lanes(left)
  for lane, ended in pairs(left) do
    local parts = parts_of(lane)
    if gates.has_permits(parts) then gates.release(parts, starts_of(ended.began)) end
    lanes.drop(lane, ended.places)
  end
end

-- args: now, how many runs, then those that share something, together. Answers with the verdict on each.
function functions.end_runs(keys, args)
  begin(keys, args)
  lanes.start()
  local verdicts, unleased, finished, left, is_ended = {}, {}, {}, {}, {}
  local n, n_ended, at, text_of_event, ended_alike = 0, 0, 3, nil, nil
  local record_keys, texts = read_records(args, at)
  while args[at] do
    local shared, lane, gate = at, args[at + LANE], args[at + GATE]
    local moved = gate ~= '' and gates.revision(gate) ~= tonumber(args[at + GATE_REVISION])
    local ended = left[lane] or {began = {}, places = {}}
    local began, places = ended.began, ended.places
    local n_left, before = #places, n_ended
    at = shared + SHARED_SIZE + args[shared + RUNS_N] * RUN_SIZE
    for run = shared + SHARED_SIZE, at - 1, RUN_SIZE do
      n = n + 1
      local id, was, text = args[run + ID], args[run + WAS], texts[n]
      if args[run + EVENT] ~= '' then text_of_event, ended_alike = args[run + EVENT], nil end
      if text and not moved and not is_ended[id] and records.begins_as(text, was) then
        n_left, n_ended = n_left + 1, n_ended + 1
        writes[2 * n_ended - 1], writes[2 * n_ended] = record_keys[n], args[run + RECORD]
        unleased[n_ended], finished[2 * n_ended - 1], finished[2 * n_ended] = id, NOW_TEXT, id
        is_ended[id], verdicts[n] = true, DONE
        began[n_left], places[n_left] = was, args[run + PLACE]
        ended_alike = ended_alike or event.alike(text_of_event)
        ended_alike[#ended_alike + 1] = id
      else
        if text and not parse_record(text) then put_apart(id) end
        verdicts[n] = CONFLICT
      end
    end
    if n_ended > before then
      left[lane] = ended
      move_ended(args, shared, n_ended - before, began)
    end
  end
  leave_lanes(left)
  call_in_pieces('ZREM', KEY.leases, unleased)
  call_in_pieces('ZADD', KEY.finished, finished)
  lanes.tell_pools()
  finish()
  return verdicts
end
