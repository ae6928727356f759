-- Groups of steps under compare-and-set. All checks of a group first, then all its writes. e_apply.lua calls them.

local DONE, CONFLICT, ID_TAKEN, REQUEST_TAKEN, STILL_LEASED = 0, 1, 2, 3, 5  -- verdicts
local FULL = {queue = 4, owner = 6, all = 7}

-- ---- what step_arguments.cc packs: one flat list, in which groups, gates and steps are known by where they begin
-- (a table each would cost more than all the rest)

local A

-- of a group; then its queues with limits (name, tasks), dedupe keys (key, newest task), gates, steps
local CAPACITY, OWNERS_CAPACITY, QUEUES_N, DEDUPES_N, GATES_N, STEPS_N, GROUP_SIZE = 0, 1, 2, 3, 4, 5, 6
-- of a gate; then its events. The operation is w (write it), c (only check it), or d: a document, whose name, version, text and
-- 1 if sweepers have work with it stand where a gate has its name, revision, record and limits; or q: a question, whose id,
-- revision, JSON and wake|task|state stand there.
local GATE, GATE_REVISION, GATE_OP, GATE_RECORD, GATE_LIMITS, GATE_EVENTS_N, GATE_SIZE = 0, 1, 2, 3, 4, 5, 6
-- of a step; then its events, tags and parents
local ID, EXPECTED, PLACE, STATE, LANE, SAID, BODY, RESULT, RUN_END, REVOKED, BEATS, RUN_AT, DEADLINE, CASCADE, PROGRESS,
      DEDUPE, REQUEST, SPAWNER, EVENTS_N, TAGS_N, PARENTS_N, LEDGER, SPEND, ANSWER_WAITS, RECORD_KEY, OLD, STEP_SIZE =
  0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26
-- SAID is false if the task goes. RECORD_KEY and OLD are left empty for us: the key of its record; what the record says, if it is there and may be changed.
local TAIL = '+'  -- a place: behind all others of its lane
local NONE = ''   -- a result: there is none from now on

local function queues_of(group) return group + GROUP_SIZE end
local function dedupes_of(group) return queues_of(group) + 2 * A[group + QUEUES_N] end
local function gates_of(group) return dedupes_of(group) + 2 * A[group + DEDUPES_N] end
local function after_gate(gate) return gate + GATE_SIZE + A[gate + GATE_EVENTS_N] end

local function steps_of(group)
  local at = gates_of(group)
  for _ = 1, A[group + GATES_N] do at = after_gate(at) end
  return at
end

local function after_step(step)
  return step + STEP_SIZE + A[step + EVENTS_N] + A[step + TAGS_N] + A[step + PARENTS_N]
end

local function tags_of(step) return step + STEP_SIZE + A[step + EVENTS_N] end
local function parents_of(step) return tags_of(step) + A[step + TAGS_N] end

function steps.unpack(packed)
  A = cmsgpack.unpack(packed)
  return A
end

-- Where they begin, and how many there are.
function steps.unpack_gates(packed)
  return 2, steps.unpack(packed)[1]
end

-- ---- checks

local function check_new(step, requests)
  local request = A[step + REQUEST]
  if request then
    if requests[request] or get(KEY.request .. request) then return REQUEST_TAKEN end
    requests[request] = true
  end
  return get(A[step + RECORD_KEY]) and ID_TAKEN or DONE
end

-- A run that was ended without its worker: its agent may live until its lease would have run out.
local function revoke(id)
  local until_ = call('ZSCORE', KEY.leases, id)
  call('ZREMRANGEBYSCORE', KEY.revoked, '-inf', whole(lease_clock.now()))
  if until_ then call('ZADD', KEY.revoked, until_, id) end
end

local function is_still_leased(id)
  local until_ = call('ZSCORE', KEY.revoked, id)
  return until_ and tonumber(until_) > lease_clock.now()
end

local function check_stored(step)
  local text = get(A[step + RECORD_KEY])
  if not text then return CONFLICT end
  local rev, seq, place, bytes, beats, marks, state, started, worker, deadline, cascade, lane = records.stored(text)
  if not rev or not IS_STATE[state] or not parts_of(lane) then
    put_apart(A[step + ID])
    return CONFLICT
  end
  local wanted_beats = A[step + BEATS]
  if tonumber(rev) ~= A[step + EXPECTED] or (wanted_beats and beats ~= wanted_beats) then return CONFLICT end
  local goes = not A[step + SAID]
  if goes and (not IS_TERMINAL[state] or cascade ~= '0') then return CONFLICT end
  local begins_anew = IS_TERMINAL[state] and not IS_TERMINAL[A[step + STATE]]
  if (begins_anew or goes) and is_still_leased(A[step + ID]) then return STILL_LEASED end
  if A[step + SPEND] then
    local parts = parts_of(lane)
    if not budgets.has_room(parts, gates.limits(parts), A[step + SPEND]) then return CONFLICT end
  end
  A[step + OLD] = {text = text, seq = seq, place = place, bytes = bytes, marks = marks, state = state, started = started,
                worker = worker, deadline = deadline, cascade = cascade, lane = lane}
  return DONE
end

local function are_parents_there(step, added)
  local at = parents_of(step)
  for i = at, at + A[step + PARENTS_N] - 1 do
    if not added[A[i]] and not get(KEY.task .. A[i]) then return false end
  end
  return true
end

-- The tasks that a group adds, as far as they are limited: scope, most that may wait there, so many more; …
local function asked_room(group)
  local all, owners, queues = 0, {}, {}
  local step = steps_of(group)
  for _ = 1, A[group + STEPS_N] do
    if A[step + EXPECTED] == 0 then
      local parts = parts_of(A[step + LANE])
      all = all + 1
      owners[parts.owner] = (owners[parts.owner] or 0) + 1
      queues[parts.queue] = (queues[parts.queue] or 0) + 1
    end
    step = after_step(step)
  end
  if all == 0 then return {} end
  local room = {'all', A[group + CAPACITY], all}
  for owner, added in pairs(owners) do
    room[#room + 1], room[#room + 2], room[#room + 3] = 'owner:' .. owner, A[group + OWNERS_CAPACITY], added
  end
  local at = queues_of(group)
  for i = at, at + 2 * A[group + QUEUES_N] - 1, 2 do
    local added = queues[A[i]]
    if added then room[#room + 1], room[#room + 2], room[#room + 3] = 'queue:' .. A[i], A[i + 1], added end
  end
  return room
end

local WAITING = {'|blocked', '|scheduled', '|pending', '|stalled'}

-- list: scope, most, more, …, from a place on to another. Answers DONE, or which of them is full.
function steps.room_for(list, from, till)
  if till < from then return DONE end
  local fields = {}
  for i = from, till, 3 do
    for _, state in ipairs(WAITING) do fields[#fields + 1] = list[i] .. state end
  end
  local stored, at = counted(fields), 0
  for i = from, till, 3 do
    local waiting = 0
    for _ = 1, #WAITING do
      at = at + 1
      waiting = waiting + (stored[fields[at]] or 0)
    end
    if waiting + list[i + 2] > tonumber(list[i + 1]) then return FULL[string.match(list[i], '^%a+')] end
  end
  return DONE
end

local function check_capacity(group)
  if not A[group + CAPACITY] then return DONE end
  local room = asked_room(group)
  return steps.room_for(room, 1, #room)
end

-- The ids that a group adds, so that its tasks may depend on each other.
local function added_by(group)
  local added, step = {}, steps_of(group)
  for _ = 1, A[group + STEPS_N] do
    if A[step + EXPECTED] == 0 then added[A[step + ID]] = true end
    step = after_step(step)
  end
  return added
end

local function check_steps(group, first)
  local step, requests, added = first, nil, nil
  for _ = 1, A[group + STEPS_N] do
    local verdict
    if A[step + EXPECTED] == 0 then
      requests = requests or {}
      verdict = check_new(step, requests)
      if verdict == DONE and A[step + PARENTS_N] > 0 then
        added = added or added_by(group)
        if not are_parents_there(step, added) then verdict = CONFLICT end
      end
    else
      verdict = check_stored(step)
    end
    if verdict ~= DONE then return verdict end
    step = after_step(step)
  end
  return DONE
end

local function revision_of(at)
  if A[at + GATE_OP] == 'q' then return questions.revision(A[at + GATE]) end
  if A[at + GATE_OP] ~= 'd' then return gates.revision(A[at + GATE]) end
  return tonumber(call('HGET', KEY[A[at + GATE]], 'version')) or 0
end

-- The gates from there on.
function steps.are_gates_unmoved(at, n)
  for _ = 1, n do
    if revision_of(at) ~= A[at + GATE_REVISION] then return false end
    at = after_gate(at)
  end
  return true
end

local function check(group, first_step)
  local verdict = check_steps(group, first_step)
  if verdict ~= DONE then return verdict end
  if not steps.are_gates_unmoved(gates_of(group), A[group + GATES_N]) then return CONFLICT end
  local at = dedupes_of(group)
  for i = at, at + 2 * A[group + DEDUPES_N] - 1, 2 do
    local newest = call('ZREVRANGE', KEY.dedupe .. A[i], 0, 0)[1] or ''
    if newest ~= A[i + 1] then return CONFLICT end
  end
  return check_capacity(group)
end

-- ---- writes

-- What is written once per call, or per lane: new entries at the tail, entries that go, permits that come back, and the
-- sets of all leases and of all finished tasks.
local pushes, drops, ends, spends, unleased, finished

function steps.start_writes()
  pushes, drops, ends, spends, unleased, finished = {}, {}, {}, {}, {}, {}
end

local function list_of(map, lane)
  local list = map[lane]
  if not list then
    list = {}
    map[lane] = list
    map[#map + 1] = lane
  end
  return list
end

function steps.add_push(lane, id, place)
  local list = list_of(pushes, lane)
  local n = #list
  list[n + 1], list[n + 2] = id, place
end

-- Where such are added one after the other: id, place, …
function steps.pushes_to(lane) return list_of(pushes, lane) end

-- What is given back when a run ends: its lease and its permits; its entry goes if the task does not come back to it.
function steps.add_end(lane, id, started, spend)
  unleased[#unleased + 1] = id
  local starts = list_of(ends, lane)
  starts[#starts + 1] = started
  if spend then
    local of_lane = spends[lane] or {}
    spends[lane] = of_lane
    of_lane[#starts] = spend
  end
end

function steps.add_drop(lane, place)
  local places = list_of(drops, lane)
  places[#places + 1] = place
end

function steps.add_finished(id)
  local n = #finished
  finished[n + 1], finished[n + 2] = NOW_TEXT, id
end

function steps.flush_writes()
  call_in_pieces('ZREM', KEY.leases, unleased)
  call_in_pieces('ZADD', KEY.finished, finished)
  for _, lane in ipairs(ends) do gates.release(parts_of(lane), ends[lane], spends[lane]) end
  for _, lane in ipairs(drops) do lanes.drop(lane, drops[lane]) end
  for _, lane in ipairs(pushes) do lanes.push(lane, pushes[lane]) end
  steps.start_writes()
end

local function leave_state(step, old)
  if IS_WAITING[old.state] then
    if pushes[old.lane] then steps.flush_writes() end
    lanes.remove(old.lane, tonumber(old.place))
  elseif old.state == 'scheduled' then
    call('ZREM', KEY.scheduled, A[step + ID])
  elseif old.state == 'running' then
    if A[step + REVOKED] then revoke(A[step + ID]) end
    steps.add_end(old.lane, A[step + ID], tonumber(old.started) or 0, A[step + SPEND])
    if A[step + PLACE] == TAIL or not IS_WAITING[A[step + STATE]] then steps.add_drop(old.lane, old.place) end
  elseif IS_TERMINAL[old.state] then
    if #finished > 0 then steps.flush_writes() end
    call('ZREM', KEY.finished, A[step + ID])
  end
end

-- Returns its place: another one if it cannot keep its own.
local function enter_state(step, place)
  local state = A[step + STATE]
  if IS_WAITING[state] then
    -- What waits to be pushed has its place already: a lane must know of it before something comes back to it.
    if A[step + PLACE] ~= TAIL and pushes[A[step + LANE]] then steps.flush_writes() end
    if A[step + PLACE] ~= TAIL and lanes.give_back(A[step + LANE], tonumber(place)) then return place end
    if A[step + PLACE] ~= TAIL then place = whole(number_before('place', 1) + 1) end
    steps.add_push(A[step + LANE], A[step + ID], place)
  elseif state == 'scheduled' then
    call('ZADD', KEY.scheduled, A[step + RUN_AT], A[step + ID])
    due_at(tonumber(A[step + RUN_AT]))
  elseif IS_TERMINAL[state] then
    steps.add_finished(A[step + ID])
  end
  return place
end

local function write_indexes(step, seq, old)
  local id, deadline, dedupe = A[step + ID], A[step + DEADLINE], A[step + DEDUPE]
  if deadline then
    call('ZADD', KEY.deadlines, deadline, id)
    due_at(tonumber(deadline))
  elseif old and old.deadline ~= '~' then
    call('ZREM', KEY.deadlines, id)
  end
  if A[step + CASCADE] then
    call('ZADD', KEY.cascades, NOW_TEXT, id)
    due_at(NOW)
  elseif old and old.cascade == '1' then
    call('ZREM', KEY.cascades, id)
  end
  if dedupe then
    local key = KEY.dedupe_open .. dedupe
    if IS_TERMINAL[A[step + STATE]] then call('ZREM', key, id) else call('ZADD', key, seq, id) end
  end
end

-- ---- what a task has beside its state: each answers with the marks as they are afterwards

-- And with the result that is kept in the record.
local function put_result(step, old, marks)
  local result = A[step + RESULT]
  if marks ~= '~' then
    if not result then
      local _, inner = records.inner_lines(old.text)
      return marks, inner
    end
    if has_mark(marks, 'r') then put(KEY.result .. A[step + ID], false) end
    marks = without_mark(without_mark(marks, 'r'), 's')
  end
  if not result or result == NONE then return marks, '' end
  if #result <= INNER_RESULT_MAX then return with_mark(marks, 's'), result end
  put(KEY.result .. A[step + ID], result)
  return with_mark(marks, 'r'), ''
end

local function put_progress(step, marks)
  local progress = A[step + PROGRESS]
  if progress then
    put(KEY.progress .. A[step + ID], progress)
    return with_mark(marks, 'p')
  end
  if marks == '~' or not has_mark(marks, 'p') then return marks end
  put(KEY.progress .. A[step + ID], false)
  return without_mark(marks, 'p')
end

-- And with the last ended run, worker|started|ended|rest as run_text.cc reads it: it is in the record, those before it in a
-- key of their own, a line each.
local function put_run_end(step, old, marks)
  local before = has_mark(old.marks, 'e') and records.inner_lines(old.text) or ''
  if not A[step + RUN_END] then return marks, before end
  if before ~= '' then
    local key = KEY.history .. A[step + ID]
    put(key, (has_mark(marks, 'h') and get(key) or '') .. before .. '\n')
    marks = with_mark(marks, 'h')
  end
  return with_mark(marks, 'e'), old.worker .. '|' .. old.started .. '|' .. NOW_TEXT .. '|' .. A[step + RUN_END]
end

local function size_of_result(step, old)
  if old.marks == '~' then return 0 end
  if has_mark(old.marks, 'r') then return #(get(KEY.result .. A[step + ID]) or '') end
  local _, inner = records.inner_lines(old.text)
  return #inner
end

local function bytes_after(step, old)
  local bytes = tonumber(old.bytes)
  if A[step + RESULT] then bytes = bytes + #A[step + RESULT] - size_of_result(step, old) end
  if A[step + BODY] then bytes = bytes + #A[step + BODY] - #(get(KEY.body .. A[step + ID]) or '') end
  return bytes
end

-- ---- one step

local function write_relations(step, seq)
  local id = A[step + ID]
  if A[step + DEDUPE] then call('ZADD', KEY.dedupe .. A[step + DEDUPE], seq, id) end
  if A[step + REQUEST] then put(KEY.request .. A[step + REQUEST], id) end
  if A[step + SPAWNER] then call('ZADD', KEY.children .. A[step + SPAWNER], seq, id) end
  local tags, parents = tags_of(step), parents_of(step)
  for i = tags, parents - 1 do call('ZADD', KEY.tag .. A[i], seq, id) end
  for i = parents, parents + A[step + PARENTS_N] - 1 do call('ZADD', KEY.dependents .. A[i], seq, id) end
end

local function add_events(from, n)
  for i = from, from + n - 1 do events[#events + 1] = A[i] end
end

local function write_new(step, seq, place)
  local id, bytes, marks, result = A[step + ID], #A[step + BODY], '~', ''
  if A[step + RESULT] then
    bytes = bytes + #A[step + RESULT]
    marks, result = put_result(step, nil, marks)
  end
  marks = put_progress(step, marks)
  put(A[step + RECORD_KEY], records.text('1', seq, place, whole(bytes), '0 0', marks, A[step + SAID], '', result))
  put(KEY.body .. id, A[step + BODY])
  listed[#listed + 1] = id
  enter_state(step, place)
  write_relations(step, seq)
  write_indexes(step, seq)
  add_events(step + STEP_SIZE, A[step + EVENTS_N])
  move(A[step + LANE], A[step + STATE], 1, bytes)
end

-- The first line of a body: tags|parents|…
local function lists_in(body)
  local tags, parents = string.match(body, '^([^|\n]*)|([^|\n]*)|')
  return tags or '', parents or ''
end

local function set_of(list)
  local set = {}
  for name in string.gmatch(list, '[^,]+') do set[name] = true end
  return set
end

-- Names that are in both lists stay: a parent among them may be gone, and would come back as an empty index.
local function move_index(kind, before, after, seq, id)
  if before == after then return end
  local was, is = set_of(before), set_of(after)
  for name in string.gmatch(before, '[^,]+') do
    if not is[name] then call('ZREM', KEY[kind] .. name, id) end
  end
  for name in string.gmatch(after, '[^,]+') do
    if not was[name] then call('ZADD', KEY[kind] .. name, seq, id) end
  end
end

-- The indexes of tags and parents go with the body.
local function put_body(step, seq)
  local id, key = A[step + ID], KEY.body .. A[step + ID]
  local tags, parents = lists_in(get(key) or '')
  local new_tags, new_parents = lists_in(A[step + BODY])
  put(key, A[step + BODY])
  move_index('tag', tags, new_tags, seq, id)
  move_index('dependents', parents, new_parents, seq, id)
end

local function write_stored(step, place)
  local old, state = A[step + OLD], A[step + STATE]
  local stays = state == 'running' and old.state == 'running'
  -- A step that does not concern its place: it stands where it stood.
  local stands = IS_WAITING[old.state] and IS_WAITING[state] and A[step + PLACE] ~= TAIL or
                 IS_TERMINAL[old.state] and IS_TERMINAL[state]
  local bytes = bytes_after(step, old)
  if A[step + BODY] then put_body(step, old.seq) end
  if stays and A[step + SPEND] then
    local parts = parts_of(old.lane)
    budgets.book_all(parts, gates.limits(parts), {A[step + SPEND]})
  end
  if not stays and not stands then
    leave_state(step, old)
    place = enter_state(step, place)
  end
  local marks, result = put_result(step, old, old.marks)
  local run
  marks, run = put_run_end(step, old, marks)
  -- Renewals and notes go on while the lease stays.
  local renewals = '0 0'
  if stays then renewals = records.renewals(old.text) else marks = put_progress(step, marks) end
  put(A[step + RECORD_KEY], records.text(whole(A[step + EXPECTED] + 1), old.seq, place, whole(bytes), renewals, marks, A[step + SAID], run, result))
  write_indexes(step, old.seq, old)
  add_events(step + STEP_SIZE, A[step + EVENTS_N])
  move(old.lane, old.state, -1, -old.bytes)
  move(A[step + LANE], state, 1, bytes)
  if A[step + ANSWER_WAITS] ~= 0 then questions.count_waits(parts_of(A[step + LANE]).owner, A[step + ANSWER_WAITS]) end
end

-- ---- a task that goes

local OF_A_TASK = {'task', 'body', 'result', 'checkpoint', 'progress', 'history', 'log', 'log_totals', 'children', 'dependents'}

-- An entry of the list goes with the last of its tasks.
local function drop_from_list(seq)
  local entry = call('XRANGE', KEY.tasks, seq .. '-0', '+', 'COUNT', 1)[1]
  if not entry then return end
  local ids = {}
  for i = 2, #entry[2], 2 do ids[#ids + 1] = entry[2][i] end
  fetch_records(ids)
  for _, id in ipairs(ids) do
    if get(KEY.task .. id) then return end
  end
  call('XDEL', KEY.tasks, entry[1])
end

-- A finished one, with all that belongs to it but its events.
function steps.delete_task(id, record)
  local parts, rest = parts_of(record.lane), rest_of(record)
  local tags, parents = lists_in(get(KEY.body .. id) or '')
  for _, kind in ipairs(OF_A_TASK) do put(KEY[kind] .. id, false) end
  questions.drop_of(id)
  drop_from_list(record.seq)
  call('ZREM', KEY.finished, id)
  if record.deadline ~= '~' then call('ZREM', KEY.deadlines, id) end
  if rest.request_id then put(KEY.request .. parts.owner .. '|' .. rest.request_id, false) end
  if rest.parent_id then call('ZREM', KEY.children .. rest.parent_id, id) end
  if rest.dedupe_key then
    call('ZREM', KEY.dedupe .. parts.owner .. '|' .. parts.type .. '|' .. rest.dedupe_key, id)
  end
  for tag in string.gmatch(tags, '[^,]+') do call('ZREM', KEY.tag .. tag, id) end
  for parent in string.gmatch(parents, '[^,]+') do call('ZREM', KEY.dependents .. parent, id) end
  move(record.lane, record.state, -1, -record.bytes)
end

local function write_gone(step)
  steps.flush_writes()
  steps.delete_task(A[step + ID], record_of(A[step + ID]))
  add_events(step + STEP_SIZE, A[step + EVENTS_N])
end

-- Answers where a document is, if there is one: it is written last.
function steps.write_gates(at, n)
  local document
  for _ = 1, n do
    if A[at + GATE_OP] == 'w' then
      steps.flush_writes()
      gates.put(A[at + GATE], A[at + GATE_RECORD], A[at + GATE_LIMITS])
    elseif A[at + GATE_OP] == 'q' then
      questions.put(A[at + GATE], A[at + GATE_REVISION] + 1, A[at + GATE_LIMITS], A[at + GATE_RECORD])
    end
    if A[at + GATE_OP] == 'd' then document = at else add_events(at + GATE_SIZE, A[at + GATE_EVENTS_N]) end
    at = after_gate(at)
  end
  budgets.recount_if_stale()
  return document
end

local function write_document(at)
  call('HSET', KEY[A[at + GATE]], 'version', whole(A[at + GATE_REVISION] + 1), 'document', A[at + GATE_RECORD],
       'due', A[at + GATE_LIMITS])
  if A[at + GATE_LIMITS] == '1' then due_at(NOW) end
  add_events(at + GATE_SIZE, A[at + GATE_EVENTS_N])
end

local function write(group, first_step)
  local document = steps.write_gates(gates_of(group), A[group + GATES_N])
  local step = first_step
  for _ = 1, A[group + STEPS_N] do
    local place = A[step + PLACE]
    if place == TAIL then place = whole(number_before('place', 1) + 1) end
    if A[step + EXPECTED] == 0 then
      write_new(step, whole(number_before('task', 1) + 1), place)
    elseif not A[step + SAID] then
      write_gone(step)
    else
      write_stored(step, place)
    end
    if A[step + LEDGER] then ledger.book(A[step + LEDGER]) end
    step = after_step(step)
  end
  if document then write_document(document) end
end

-- Where the group ends; adds what its checks look at to the keys.
function steps.lay_out(group, keys)
  local step = steps_of(group)
  for _ = 1, A[group + STEPS_N] do
    local key = KEY.task .. A[step + ID]
    A[step + RECORD_KEY] = key
    keys[#keys + 1] = key
    if A[step + REQUEST] then keys[#keys + 1] = KEY.request .. A[step + REQUEST] end
    step = after_step(step)
  end
  return step
end

function steps.apply(group)
  local first_step = steps_of(group)
  local verdict = check(group, first_step)
  if verdict == DONE then write(group, first_step) end
  return verdict
end
