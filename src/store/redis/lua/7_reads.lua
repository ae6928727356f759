-- Reading. None of these writes.

-- Answers this server's time and lease time.
function functions.clocks(keys, args)
  begin(keys, args)
  return {whole(NOW), whole(lease_clock.now())}
end

local BODY_READ, TEXTS_READ, EXCERPT_BYTES, CUT_MAX = 2048, 8192, 800, 12

-- How many bytes a part of a body takes: '-' if there is none.
local function size_of(text)
  return tonumber(text) or 0
end

-- The texts of a body as far as they were read: a JSON object of which the end may be missing. Labels stand in front, so that
-- what is cut is a text. Nil: the cut is elsewhere.
local function decode_texts(text)
  if text == '' then return {} end
  local good, texts = pcall(cjson.decode, text)
  for cut = 0, CUT_MAX do
    if good then return texts end
    good, texts = pcall(cjson.decode, string.sub(text, 1, #text - cut) .. '"}')
  end
  return good and texts or nil
end

-- Of a body: {tags, model, agent_id, beginning of the prompt, beginning of the payload}, the last four false if there is none.
-- Of what may be large, only the beginning is read.
local function summary_of(id)
  local key = KEY.body .. id
  local head = call('GETRANGE', key, 0, BODY_READ - 1)
  local line_end = string.find(head, '\n', 1, true)
  if not line_end then
    head = call('GET', key) or ''
    line_end = string.find(head, '\n', 1, true)
  end
  local tags, payload, fallback = string.match(head, '^([^|\n]*)|[^|\n]*|([^|\n]*)|([^|\n]*)\n')
  if not tags then return false end
  local at = line_end + size_of(payload) + size_of(fallback)
  local texts = decode_texts(call('GETRANGE', key, at, at + TEXTS_READ - 1)) or cjson.decode(call('GETRANGE', key, at, -1))
  local begins = payload ~= '-' and
                 call('GETRANGE', key, line_end, line_end + math.min(size_of(payload), EXCERPT_BYTES) - 1)
  return {tags, texts.model or false, texts.agent_id or false,
          texts.prompt and string.sub(texts.prompt, 1, EXCERPT_BYTES) or false, begins}
end

-- A record: {id, text, progress}; with a part of its body where a summary is wanted; with body, result and checkpoint where all is.
-- False if there is none. Whether it can be read is judged by who asked.
local function answer_of(id, wanted)
  local text = get(KEY.task .. id)
  if not text then return false end
  local marks = records.marks(text) or '~'
  local progress = has_mark(marks, 'p') and get(KEY.progress .. id)
  if wanted == 'head' then return {id, text, progress} end
  if wanted == 'summary' then return {id, text, progress, summary_of(id)} end
  return {id, text, progress, get(KEY.body .. id), has_mark(marks, 'r') and get(KEY.result .. id),
          has_mark(marks, 'c') and get(KEY.checkpoint .. id)}
end

local function fetch_answers(ids, wanted)
  local keys = {}
  for _, id in ipairs(ids) do
    keys[#keys + 1] = KEY.task .. id
    if wanted == 'all' then keys[#keys + 1] = KEY.body .. id end
  end
  fetch(keys)
end

-- wanted: 'head', 'summary' or 'all'.
function reads.answers_of(ids, wanted)
  fetch_answers(ids, wanted)
  local answers = {}
  for _, id in ipairs(ids) do
    local answer = answer_of(id, wanted)
    if answer then answers[#answers + 1] = answer end
  end
  return answers
end

-- Of tasks that an index names, so that they must be there: one that is not is answered by its id alone, which nobody can
-- read either, and is put apart for it.
function reads.indexed_answers(ids, wanted)
  fetch_answers(ids, wanted)
  local answers = {}
  for i, id in ipairs(ids) do answers[i] = answer_of(id, wanted) or {id} end
  return answers
end

-- args: now, 'head', 'summary' or 'all', ids…
function functions.read(keys, args)
  begin(keys, args)
  local ids = {}
  for i = 3, #args do ids[i - 2] = args[i] end
  fetch_answers(ids, args[2])
  local answers = {}
  for i, id in ipairs(ids) do answers[i] = answer_of(id, args[2]) end
  return answers
end

-- args: now, 'dependents' or 'children', id. Heads, oldest first.
function functions.relatives(keys, args)
  begin(keys, args)
  return reads.answers_of(call('ZRANGE', KEY[args[2]] .. args[3], 0, -1), 'head')
end

-- args: now, owner|request id
function functions.find_request(keys, args)
  begin(keys, args)
  return call('GET', KEY.request .. args[2])
end

local DEDUPE_MAX = 16

-- args: now, owner|type|key. Answers {newest or false, unfinished…}.
function functions.find_dedupe(keys, args)
  begin(keys, args)
  local newest = call('ZREVRANGE', KEY.dedupe .. args[2], 0, 0)[1]
  local open = call('ZREVRANGE', KEY.dedupe_open .. args[2], 0, DEDUPE_MAX - 1)
  return {newest and answer_of(newest, 'all') or false, reads.answers_of(open, 'all')}
end

local SCAN_MAX = 1000
local PAGE_BYTES = 4 * 1024 * 1024

local ENTRIES_READ = 50

-- Of all tasks, newest first: {seq, id}… Entries hold tasks that are gone, too, as long as one of theirs is there.
local function all_before(before)
  local found, stream = {}, KEY.tasks
  local function add(entry)
    local seq = number_of(entry)
    for i = #entry[2], 2, -2 do
      if seq < before then found[#found + 1] = {whole(seq), entry[2][i]} end
      seq = seq - 1
    end
  end
  local across = call('XRANGE', stream, whole(before) .. '-0', '+', 'COUNT', 1)[1]
  if across then add(across) end
  local at = whole(before)
  repeat
    local entries = call('XREVRANGE', stream, '(' .. at .. '-0', '-', 'COUNT', ENTRIES_READ)
    for _, entry in ipairs(entries) do
      add(entry)
      at = whole(number_of(entry))
    end
  until #entries < ENTRIES_READ or #found >= SCAN_MAX
  return found
end

-- The same, oldest first.
local function all_after(after)
  local found, at = {}, whole(after)
  repeat
    local entries = call('XRANGE', KEY.tasks, '(' .. at .. '-0', '+', 'COUNT', ENTRIES_READ)
    for _, entry in ipairs(entries) do
      local last = number_of(entry)
      local seq = last - #entry[2] / 2
      for i = 2, #entry[2], 2 do
        seq = seq + 1
        if seq > after then found[#found + 1] = {whole(seq), entry[2][i]} end
      end
      at = whole(last)
    end
  until #entries < ENTRIES_READ or #found >= SCAN_MAX
  return found
end

-- What a sorted set has from a seq on, without it: {seq, id}…
local function indexed(key, from, oldest)
  local found = {}
  local pairs_ = oldest and call('ZRANGEBYSCORE', key, '(' .. from, '+inf', 'WITHSCORES', 'LIMIT', 0, SCAN_MAX) or
                 call('ZREVRANGEBYSCORE', key, '(' .. from, '-inf', 'WITHSCORES', 'LIMIT', 0, SCAN_MAX)
  for i = 1, #pairs_, 2 do found[#found + 1] = {pairs_[i + 1], pairs_[i]} end
  return found
end

-- Those of any of these tags, as far as all of them were read.
local function with_any_tag(tags, from, oldest)
  local found, seen, reached = {}, {}, nil
  local function is_before(a, b)
    if oldest then return a < b end
    return a > b
  end
  for tag in string.gmatch(tags, '[^,]+') do
    local some = indexed(KEY.tag .. tag, from, oldest)
    for _, candidate in ipairs(some) do
      if not seen[candidate[2]] then found[#found + 1] = candidate end
      seen[candidate[2]] = true
    end
    local last = #some >= SCAN_MAX and tonumber(some[#some][1])
    if last and (not reached or is_before(last, reached)) then reached = last end
  end
  table.sort(found, function(a, b) return is_before(tonumber(a[1]), tonumber(b[1])) end)
  while reached and is_before(reached, tonumber(found[#found][1])) do found[#found] = nil end
  return found, reached
end

-- Candidates from a seq on, in order: {seq, id}…; and whether there may be more.
local function candidates(from, tags, spawner, oldest)
  if spawner == '' and tags ~= '' then
    local found, reached = with_any_tag(tags, from, oldest)
    return found, reached ~= nil
  end
  local found
  if spawner ~= '' then
    found = indexed(KEY.children .. spawner, from, oldest)
  elseif oldest then
    found = all_after(tonumber(from))
  else
    found = all_before(tonumber(from))
  end
  return found, #found >= SCAN_MAX
end

local function has_any_tag(id, tags)
  for tag in string.gmatch(tags, '[^,]+') do
    if call('ZSCORE', KEY.tag .. tag, id) then return true end
  end
  return false
end

local function is_one_of(names, name)
  return names == '' or names == name or string.find(names, ',' .. name .. ',', 1, true) ~= nil
end

-- Those whose id begins so.
local function with_prefix(found, prefix)
  if prefix == '' then return found end
  local fitting = {}
  for _, candidate in ipairs(found) do
    if string.sub(candidate[2], 1, #prefix) == prefix then fitting[#fitting + 1] = candidate end
  end
  return fitting
end

-- args: now, from which seq on, limit, types, queues, owners, states, tags (each ',a,b,' or ''), spawner, 'head', 'summary' or 'all',
-- what ids begin with, 'newest' or 'oldest'.
-- Answers {{seq, record}…, seq where to go on or ''}.
function functions.list(keys, args)
  begin(keys, args)
  local limit, types, queues, owners, states, tags, spawner =
    tonumber(args[3]), args[4], args[5], args[6], args[7], args[8], args[9]
  local all, more = candidates(args[2], tags, spawner, args[12] == 'oldest')
  local found, ids = with_prefix(all, args[11]), {}
  for i, candidate in ipairs(found) do ids[i] = candidate[2] end
  fetch_records(ids)
  local answers, bytes = {}, 0
  for _, candidate in ipairs(found) do
    local id = candidate[2]
    local state, lane = records.state_and_lane(get(KEY.task .. id) or '')
    local parts = lane and parts_of(lane)
    if parts and is_one_of(types, parts.type) and is_one_of(queues, parts.queue) and is_one_of(owners, parts.owner) and
       is_one_of(states, state) and (tags == '' or spawner == '' or has_any_tag(id, tags)) then
      local answer = answer_of(id, args[10] or 'all')
      answers[#answers + 1] = {candidate[1], answer}
      if args[10] ~= 'summary' then
        for part = 4, 6 do bytes = bytes + #(answer[part] or '') end
      end
      if #answers >= limit or bytes >= PAGE_BYTES then return {answers, candidate[1]} end
    end
  end
  return {answers, more and all[#all][1] or ''}
end

-- args: now, id. Answers {the record's head, ended runs as lines, oldest first}.
function functions.runs(keys, args)
  begin(keys, args)
  local record = record_of(args[2])
  local last = record and inner_run(record) or ''
  return {answer_of(args[2], 'head'), (get(KEY.history .. args[2]) or '') .. (last ~= '' and last .. '\n' or '')}
end

-- args: now, after, limit. Answers {seq, at, text, seq, at, text…}.
function functions.read_events(keys, args)
  begin(keys, args)
  local first = tonumber(call('HGET', KEY.seq, 'first_event')) or 1
  local after, limit = math.max(tonumber(args[2]), first - 1), tonumber(args[3])
  local found = {}
  for _, entry in ipairs(call('XRANGE', KEY.events, '(' .. whole(after) .. '-0', '+', 'COUNT', limit)) do
    local texts = event.texts_in(entry)
    local seq = number_of(entry) - #texts
    for i = 1, #texts do
      seq = seq + 1
      if seq > after then
        found[#found + 1] = whole(seq)
        found[#found + 1] = entry[2][2]
        found[#found + 1] = texts[i]
        if #found >= 3 * limit then return found end
      end
    end
  end
  return found
end

function functions.last_task(keys, args)
  begin(keys, args)
  return call('HGET', KEY.seq, 'task') or '0'
end

function functions.last_event(keys, args)
  begin(keys, args)
  return call('HGET', KEY.seq, 'event') or '0'
end

-- A number that is another one after anything was written that somebody may wait for.
function functions.changes(keys, args)
  begin(keys, args)
  local found = call('HMGET', KEY.seq, 'event', 'note')
  return (found[1] or '0') .. (found[2] and '.' .. found[2] or '')
end

local PIECES_READ_MAX = 1000

-- args: now, id, after, limit, run or '', before which number or ''. Answers {pieces, totals}; those before a number come last
-- first.
function functions.read_log(keys, args)
  begin(keys, args)
  local key, limit, run, before = KEY.log .. args[2], tonumber(args[4]), args[5] or '', args[6] or ''
  local first, last = '(' .. args[3] .. '-0', before == '' and '+' or '(' .. before .. '-0'
  local count = run == '' and limit or PIECES_READ_MAX
  local found, pieces = {}, nil
  repeat
    if before == '' then
      pieces = call('XRANGE', key, first, last, 'COUNT', count)
    else
      pieces = call('XREVRANGE', key, last, first, 'COUNT', count)
    end
    for _, piece in ipairs(pieces) do
      if #found < limit and (run == '' or piece[2][2] == run) then found[#found + 1] = piece end
      if before == '' then first = '(' .. piece[1] else last = '(' .. piece[1] end
    end
  until #pieces < count or #found >= limit
  return {found, call('HGETALL', KEY.log_totals .. args[2])}
end

-- args: now, scopes… ('queue:Q' or 'line:Q|T'). Answers the tasks of each state, in the order of STATES, for each.
function functions.count_scopes(keys, args)
  begin(keys, args)
  local all = {}
  for i = 2, #args do
    local fields = {}
    for s, state in ipairs(STATES) do fields[s] = args[i] .. '|' .. state end
    local found = call('HMGET', KEY.counts, unpack(fields))
    for s = 1, #STATES do found[s] = found[s] or '0' end
    all[#all + 1] = found
  end
  return all
end

local GROUPS_MAX = 10000

-- The lane of each queue whose head is the first: queue -> {head, lane}.
local function first_lanes(queues)
  local first, groups = {}, 0
  local function offer(queue, found)
    if found[2] and (not first[queue] or tonumber(found[2]) < first[queue][1]) then first[queue] = {tonumber(found[2]), found[1]} end
  end
  for queue in pairs(queues) do offer(queue, call('ZRANGE', KEY.oldest .. queue, 0, 0, 'WITHSCORES')) end
  for _, gate in ipairs(call('ZRANGE', KEY.waited, 0, -1)) do
    for _, queue in ipairs(call('ZRANGE', KEY.waits .. gate, 0, -1)) do
      for _, group in ipairs(call('ZRANGE', KEY.line .. gate .. '||' .. queue, 0, -1)) do
        groups = groups + 1
        if groups > GROUPS_MAX then return first end
        offer(queue, call('ZRANGE', KEY.group .. gate .. '||' .. queue .. '|' .. group, 0, 0, 'WITHSCORES'))
      end
    end
  end
  return first
end

-- The task at that place and when it was ready, 'ID|TIME'; nil if that cannot be told.
local function task_at(head, lane)
  local entry = call('XRANGE', KEY.lane .. lane, whole(head) .. '-0', whole(head) .. '-0')[1]
  local record = entry and record_of(entry[2][2])
  if not record then return nil end
  local rest = rest_of(record)
  return entry[2][2] .. '|' .. whole(rest.run_at or rest.created_at or 0)
end

-- Flat: 'queue:Q|STATE', number, …, and 'first:Q', 'ID|TIME'.
function functions.queues(keys, args)
  begin(keys, args)
  local flat = call('HGETALL', KEY.counts)
  local found, waiting = {}, {}
  for i = 1, #flat, 2 do
    if string.sub(flat[i], 1, 6) == 'queue:' then
      found[#found + 1] = flat[i]
      found[#found + 1] = flat[i + 1]
      local queue, state = string.match(flat[i], '^queue:(.*)|(%l+)$')
      if IS_WAITING[state] then waiting[queue] = true end
    end
  end
  for queue, first in pairs(first_lanes(waiting)) do
    local task = task_at(first[1], first[2])
    if task then
      found[#found + 1] = 'first:' .. queue
      found[#found + 1] = task
    end
  end
  return found
end

-- How many tasks wait in a lane: those that came back, and those behind the last one that was delivered. Before that one few
-- entries are left, see LEFT_MAX, so they are counted and not those that wait.
local function tasks_in(lane, where)
  local key = KEY.lane .. lane
  return where.returned + call('XLEN', key) - #call('XRANGE', key, '-', whole(where.last) .. '-0')
end

-- args: now, limit. Of each lane, by name: {name, how many wait in it, 'ID|TIME' of the first}. Of more than the limit, any.
function functions.lanes(keys, args)
  begin(keys, args)
  kept.know()
  local limit, names, seen, cursor = tonumber(args[2]), {}, {}, '0'
  repeat
    local page = call('HSCAN', KEY.lanes, cursor, 'COUNT', 1000)
    cursor = page[1]
    for i = 1, #page[2], 2 do
      if not seen[page[2][i]] then names[#names + 1] = page[2][i] end
      seen[page[2][i]] = true
    end
  until cursor == '0' or #names >= limit
  table.sort(names)
  local found = {}
  for i = 1, math.min(#names, limit) do
    local where = where_is(names[i])
    local head = where and head_of(names[i], where)
    local first = head and task_at(head, names[i])
    if first then found[#found + 1] = {names[i], tasks_in(names[i], where), first} end
  end
  return found
end

-- args: now, owner. Flat: 'own:OWNER|Q|STATE', number, …
function functions.queues_of(keys, args)
  begin(keys, args)
  local found, cursor = {}, '0'
  repeat
    local page = call('HSCAN', KEY.counts, cursor, 'MATCH', 'own:' .. args[2] .. '|*', 'COUNT', 10000)
    cursor = page[1]
    for i = 1, #page[2] do found[#found + 1] = page[2][i] end
  until cursor == '0'
  return found
end

local function waiting_lanes(name)
  local sum = 0
  for _, queue in ipairs(call('ZRANGE', KEY.waits .. name, 0, -1)) do
    for _, group in ipairs(call('ZRANGE', KEY.line .. name .. '||' .. queue, 0, -1)) do
      sum = sum + call('ZCARD', KEY.group .. name .. '||' .. queue .. '|' .. group)
    end
  end
  return sum
end

local function state_of_gate(name)
  return {name, call('HGET', KEY.gate_records, name) or '', call('HGET', KEY.in_use, name) or '0',
          call('HGET', KEY.rate_at, name) or '0', waiting_lanes(name), budgets.use_text(name, gates.limits_of(name))}
end

-- args: now, names…
function functions.read_gates(keys, args)
  begin(keys, args)
  kept.know()
  local states = {}
  for i = 2, #args do states[i - 1] = state_of_gate(args[i]) end
  return states
end

-- Those that are stored or waited at, by name.
function functions.all_gates(keys, args)
  begin(keys, args)
  kept.know()
  local names, seen = {}, {}
  for _, source in ipairs({call('HKEYS', KEY.gate_records), call('ZRANGE', KEY.waited, 0, -1)}) do
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
function functions.lane_position(keys, args)
  begin(keys, args)
  kept.know()
  local record = record_of(args[2])
  if not record or not IS_WAITING[record.state] then return false end
  local where = where_is(record.lane)
  if not where then return false end
  local key = KEY.lane .. record.lane
  local place = tonumber(record.place)
  local ahead = 0
  if where.returned > 0 then
    ahead = #call('XPENDING', key, GROUP, '-', '(' .. record.place .. '-0', AHEAD_MAX, 'returned')
  end
  if place > where.last then
    ahead = ahead + #call('XRANGE', key, '(' .. whole(where.last) .. '-0', '(' .. record.place .. '-0', 'COUNT',
                          AHEAD_MAX)
  end
  return {where.gate, math.min(ahead, AHEAD_MAX)}
end

function functions.ledger_days(keys, args)
  begin(keys, args)
  return call('ZRANGE', KEY.ledger_days, 0, -1)
end

-- args: now, day. Answers names and amounts, …
function functions.ledger(keys, args)
  begin(keys, args)
  return call('HGETALL', KEY.ledger .. args[2])
end
