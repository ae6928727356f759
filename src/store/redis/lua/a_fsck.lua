-- fsck: what every index must hold follows from the tasks' records; both are compared, and a repair makes them equal.
-- One call, so that nothing moves meanwhile. It looks at every key of the prefix. How much output each task has is looked
-- at before (a_fsck_logs.lua), what the events say behind it (redis_fsck.cc): both in steps, because there may be much of it.

local FINDINGS_MAX = 100  -- of one kind; the rest is summed up in one more
local found, drop_wrong_type = findings.found, findings.drop_wrong_type
local mending

-- Every key by its kind, "lane:" for those that begin so: kind → names in order, without the kind.
local keys_by_kind

local function look_at_keys()
  keys_by_kind = {}
  local seen = {}  -- SCAN may give a key twice
  local cursor = '0'
  repeat
    local page = call('SCAN', cursor, 'MATCH', P .. '*', 'COUNT', 1000)
    cursor = page[1]
    for _, key in ipairs(page[2]) do
      local name = string.sub(key, #P + 1)
      local kind = string.match(name, '^[%a_]+:?') or ''
      local names = keys_by_kind[kind]
      if not names then
        names = {}
        keys_by_kind[kind] = names
      end
      if not seen[name] then names[#names + 1] = string.sub(name, #kind + 1) end
      seen[name] = true
    end
  until cursor == '0'
  for _, names in pairs(keys_by_kind) do table.sort(names) end
end

local function keys_of(kind)
  return keys_by_kind[kind] or {}
end

-- ---- types

local function check_type(kind, right)
  local wrong = false
  for _, name in ipairs(keys_of(kind)) do
    local stored = call('TYPE', P .. kind .. name).ok
    if stored ~= right then
      wrong = true
      drop_wrong_type(kind .. name, stored, right, mending)
    end
  end
  return wrong
end

-- What goes and follows from the tasks is made anew. False: it could not be looked further.
local function check_types()
  local wrong = false
  for right, words in pairs(WORDS_OF_TYPE) do
    for _, word in ipairs(words) do wrong = check_type(NAME[word], right) or wrong end
  end
  if wrong and mending then
    call('DEL', KEY.pool_lines)  -- so that pools are made anew
    look_at_keys()
  end
  return mending or not wrong
end

-- ---- what must be there

local ZSETS = {NAME.scheduled, NAME.leases, NAME.finished, NAME.deadlines, NAME.cascades, NAME.questions, NAME.questions_open,
               NAME.question_ids}
local FAMILIES = {NAME.children, NAME.dependents, NAME.tag, NAME.dedupe, NAME.dedupe_open, NAME.asked}

local function want(image, key, member, score)
  local members = image.zsets[key]
  if not members then
    members = {}
    image.zsets[key] = members
  end
  members[member] = score or true
end

local function want_relations(image, id, record, rest, parts, body)
  image.relations[id] = {dependents = rest.dependents or 0, children = rest.children or 0, unmet = rest.unmet_parents or 0,
                         runs_anyway = rest.on_parent_failure == 'run', open_questions = rest.open_questions or 0,
                         asked = rest.asked or 0}
  if rest.parent_id then want(image, NAME.children .. rest.parent_id, id, record.seq) end
  if rest.request_id then image.requests[parts.owner .. '|' .. rest.request_id] = id end
  if rest.dedupe_key then
    local key = parts.owner .. '|' .. parts.type .. '|' .. rest.dedupe_key
    want(image, NAME.dedupe .. key, id, record.seq)
    if not IS_TERMINAL[record.state] then want(image, NAME.dedupe_open .. key, id, record.seq) end
  end
  if not body then return found('body_missing', 'task ' .. id) end
  local tags, parents = string.match(body, '^([^|\n]*)|([^|\n]*)|')
  for tag in string.gmatch(tags or '', '[^,]+') do want(image, NAME.tag .. tag, id, record.seq) end
  image.relations[id].parents = {}
  for parent in string.gmatch(parents or '', '[^,]+') do
    want(image, NAME.dependents .. parent, id, record.seq)
    image.relations[id].parents[parent] = true
  end
end

local function lane_image(image, lane)
  local one = image.lanes[lane]
  if not one then
    one = {waiting = {}, running = {}}
    image.lanes[lane] = one
    image.lane_names[#image.lane_names + 1] = lane
  end
  return one
end

local function want_state(image, id, record, rest)
  local state = record.state
  if IS_WAITING[state] then lane_image(image, record.lane).waiting[tonumber(record.place)] = id end
  if state == 'running' then
    lane_image(image, record.lane).running[tonumber(record.place)] = id
    want(image, NAME.leases, id)
  end
  if state == 'scheduled' then want(image, NAME.scheduled, id, rest.run_at) end
  if IS_TERMINAL[state] then want(image, NAME.finished, id) end
  if record.deadline ~= '~' and not IS_TERMINAL[state] then want(image, NAME.deadlines, id, record.deadline) end
  if record.cascade == '1' then want(image, NAME.cascades, id) end
end

-- Those that are put apart. A repair gives them back: whoever cannot read them puts them apart again.
local function take_quarantined()
  local apart = {}
  for _, id in ipairs(call('SMEMBERS', KEY.quarantine)) do
    found('quarantined', 'task ' .. id, mending)
    apart[id] = not mending
  end
  if mending then call('DEL', KEY.quarantine) end
  return apart
end

local function image_of_tasks()
  local image = {zsets = {}, requests = {}, lanes = {}, lane_names = {}, tasks = {}, seqs = {}, relations = {},
                 unreadable = {}, open_questions = {}}
  local apart = take_quarantined()
  local has_log = {}
  for _, id in ipairs(keys_of(NAME.log_totals)) do has_log[id] = true end
  for _, id in ipairs(keys_of(NAME.task)) do
    local record = record_of(id)
    local readable, rest
    if record then readable, rest = pcall(rest_of, record) end
    if not readable or type(rest) ~= 'table' then
      image.unreadable[id] = true
      found('record_unreadable', 'task ' .. id)
    else
      image.tasks[id] = record
      image.seqs[record.seq] = id
      local body = get_once(KEY.body .. id)
      findings.check_record(id, record, rest, body, has_log[id], mending)
      if not apart[id] then want_state(image, id, record, rest) end
      want_relations(image, id, record, rest, parts_of(record.lane), body)
      move(record.lane, record.state, 1, tonumber(record.bytes))
    end
  end
  return image
end

-- ---- questions

-- One that is open although its task has ended. No text of a user's holds the member in quotes: there they are escaped.
local function withdraw(id, text)
  local revision, _, task = questions.head_of(text)
  text = string.gsub(string.match(text, '\n(.*)$'), '"state":"open"', '"state":"withdrawn"', 1)
  put(KEY.question .. id, whole(revision + 1) .. '|~|' .. task .. '|withdrawn\n' .. text)
end

local function want_question(image, id, wake, task, state)
  questions.count(state, 1)
  want(image, NAME.question_ids, id, 0)
  if task ~= '~' then want(image, NAME.asked .. task, id, 0) end
  if state ~= 'open' then return end
  want(image, NAME.questions_open, id, 0)
  if wake ~= '~' then want(image, NAME.questions, id, wake) end
  if task ~= '~' then image.open_questions[task] = (image.open_questions[task] or 0) + 1 end
end

local function add_questions(image)
  for _, id in ipairs(keys_of(NAME.question)) do
    local text = get(KEY.question .. id)
    local revision, wake, task, state = questions.head_of(text)
    local asker = image.tasks[task]
    if not revision then
      found('question_unreadable', 'question ' .. id)
    elseif task ~= '~' and not asker and not image.unreadable[task] then
      found('question_orphan', 'question ' .. id .. ' of a task that is gone', mending)
      if mending then put(KEY.question .. id, false) end
    elseif state == 'open' and asker and IS_TERMINAL[asker.state] then
      found('question_open_wrong', 'question ' .. id .. ' is open, although its task has ended', mending)
      if mending then
        withdraw(id, text)
        state, wake = 'withdrawn', '~'
      end
      want_question(image, id, wake, task, state)
    else
      want_question(image, id, wake, task, state)
    end
  end
end

-- ---- sets

-- When what is not known any more shall be looked at. A lease whose end is lost may be its worker's for as long as leases
-- usually are: no other run may start before.
local function score_of_lost(key)
  return key == NAME.leases and whole(lease_clock.latest() + 30000) or NOW_TEXT
end

local function compare_zset(key, wanted)
  local stored = {}
  local flat = redis.pcall('ZRANGE', P .. key, 0, -1, 'WITHSCORES')
  if flat.err then
    found('index_wrong', key .. ': ' .. flat.err, mending)
    if mending then call('DEL', P .. key) end
    flat = {}
  end
  for i = 1, #flat, 2 do
    local member, score = flat[i], flat[i + 1]
    stored[member] = true
    local right = wanted[member]
    if not right or (right ~= true and tonumber(right) ~= tonumber(score)) then
      found('index_wrong', key .. ' holds ' .. member .. ' wrongly', mending)
      if mending then call('ZREM', P .. key, member) end
      stored[member] = nil
    end
  end
  for member, score in pairs(wanted) do
    if not stored[member] then
      found('index_wrong', key .. ' lacks ' .. member, mending)
      if mending then call('ZADD', P .. key, score == true and score_of_lost(key) or score, member) end
    end
  end
end

local function check_sets(image)
  for _, key in ipairs(ZSETS) do compare_zset(key, image.zsets[key] or {}) end
  for _, family in ipairs(FAMILIES) do
    local seen = {}
    -- What a task that is gone spawned or released is not kept for it.
    if family == NAME.children or family == NAME.dependents then
      for key in pairs(image.zsets) do
        if string.sub(key, 1, #family) == family and not image.tasks[string.sub(key, #family + 1)] then
          image.zsets[key] = nil
        end
      end
    end
    for _, name in ipairs(keys_of(family)) do
      seen[family .. name] = true
      compare_zset(family .. name, image.zsets[family .. name] or {})
    end
    for key, wanted in pairs(image.zsets) do
      if string.sub(key, 1, #family) == family and not seen[key] then compare_zset(key, wanted) end
    end
  end
end

-- ---- relations between tasks

-- Writes a number into the rest of a record. No text of a user's holds its name in quotes: there they are escaped.
local function put_number(id, record, name, number)
  local rest = string.match(record.tail, '^[^\n]*')
  local field = '"' .. name .. '":' .. whole(number)
  local text, n = string.gsub(rest, '"' .. name .. '":%d+', field)
  if n == 0 then text = '{' .. field .. (rest == '{}' and '' or ',') .. string.sub(rest, 2) end
  local tail = text .. string.sub(record.tail, #rest + 1)
  record.said = string.sub(record.said, 1, #record.said - #record.tail) .. tail
  record.tail = tail
  record.rev = whole(record.rev + 1)
  put_kept(id, record)
end

-- The sweeper of cascades tells those that depend on it.
local function begin_cascade(id, record)
  record.said = records.with_cascade(record.said)
  record.cascade = '1'
  record.rev = whole(record.rev + 1)
  put_kept(id, record)
  call('ZADD', KEY.cascades, NOW_TEXT, id)
end

local function size_of(members)
  local n = 0
  for _ in pairs(members or {}) do n = n + 1 end
  return n
end

-- Those that keep a task blocked, and those whose end may have been counted already or not.
local function count_parents(image, relation)
  local unmet, cascading = 0, 0
  for parent in pairs(relation.parents) do
    local record = image.tasks[parent]
    if record then
      local is_done = record.state == 'completed' or (IS_TERMINAL[record.state] and relation.runs_anyway)
      if not is_done then unmet = unmet + 1 end
      if record.cascade == '1' then cascading = cascading + 1 end
    end
  end
  return unmet, cascading
end

-- Who counts too few would forget some of them when it ends.
local function check_family(image, id, kind)
  local counted, there = image.relations[id][kind], size_of(image.zsets[NAME[kind] .. id])
  if counted >= there then return end
  found(kind .. '_count_wrong', 'task ' .. id .. ' counts ' .. whole(counted) .. ' ' .. kind .. ' and has more', mending)
  if mending then put_number(id, image.tasks[id], kind, there) end
end

-- Parents that ended without completing, and that nobody will tell it of.
local function forgotten_parents(image, relation)
  local forgotten = {}
  if relation.runs_anyway then return forgotten end
  for parent in pairs(relation.parents) do
    local record = image.tasks[parent]
    if record and IS_TERMINAL[record.state] and record.state ~= 'completed' and record.cascade == '0' then
      forgotten[#forgotten + 1] = parent
    end
  end
  return forgotten
end

local function check_open_questions(image, id, relation)
  local open = image.open_questions[id] or 0
  if relation.open_questions == open then return end
  found('open_questions_wrong', 'task ' .. id .. ' counts ' .. whole(relation.open_questions) ..
        ' open questions, which is not what it has', mending)
  if not mending then return end
  put_number(id, image.tasks[id], 'open_questions', open)
  relation.open_questions = open
end

local function check_questions(image, id, relation)
  check_open_questions(image, id, relation)
  if image.tasks[id].state == 'blocked' and relation.open_questions > 0 then
    questions.count_waits(parts_of(image.tasks[id].lane).owner, 1)
  end
  local there = size_of(image.zsets[NAME.asked .. id])
  if relation.asked >= there then return end
  found('asked_wrong', 'task ' .. id .. ' has asked ' .. whole(there) .. ' questions, but counts ' .. whole(relation.asked), mending)
  if mending then put_number(id, image.tasks[id], 'asked', there) end
end

local function check_blocked(image, id, relation)
  local unmet, cascading = count_parents(image, relation)
  unmet = unmet + (image.open_questions[id] or 0)
  if math.abs(relation.unmet - unmet) > cascading then
    -- What a cascade may have counted already is left to it.
    local mended = mending and cascading == 0
    found('unmet_parents_wrong',
          'task ' .. id .. ' waits for ' .. whole(relation.unmet) .. ' parents, but ' .. whole(unmet) .. ' are not done', mended)
    if mended then put_number(id, image.tasks[id], 'unmet_parents', unmet) end
  end
  if unmet == 0 and cascading == 0 then
    found('blocked_for_nothing', 'task ' .. id .. ' is blocked, although all its parents are done', false, id)
  end
end

local function check_relations(image)
  local forgotten = {}  -- every finding first: what mends one would hide the others
  for id, relation in pairs(image.relations) do
    check_family(image, id, 'dependents')
    check_family(image, id, 'children')
    check_questions(image, id, relation)
    if image.tasks[id].state == 'blocked' and relation.parents then
      check_blocked(image, id, relation)
      local parents = forgotten_parents(image, relation)
      if #parents > 0 then
        found('parent_end_forgotten', 'task ' .. id .. ' is still blocked, although a parent ended without completing', mending)
      end
      for _, parent in ipairs(parents) do forgotten[parent] = true end
    end
  end
  if mending then
    for parent in pairs(forgotten) do begin_cascade(parent, image.tasks[parent]) end
  end
  save_strings()
end

local function check_requests(image)
  for _, name in ipairs(keys_of(NAME.request)) do
    local id = redis.pcall('GET', KEY.request .. name)
    if type(id) ~= 'string' or image.requests[name] ~= id then
      found('request_wrong', name, mending)
      if mending then call('DEL', KEY.request .. name) end
    end
  end
  for name, id in pairs(image.requests) do
    if call('EXISTS', KEY.request .. name) == 0 then
      found('request_wrong', name .. ' is missing', mending)
      if mending then call('SET', KEY.request .. name, id) end
    end
  end
end

-- A stream takes growing numbers only, so one that lacks a number is written again as a whole.
local function rebuild_task_list(image)
  local ids = {}
  for id in pairs(image.tasks) do ids[#ids + 1] = id end
  table.sort(ids, function(a, b) return tonumber(image.tasks[a].seq) < tonumber(image.tasks[b].seq) end)
  call('DEL', KEY.tasks)
  for _, id in ipairs(ids) do append(KEY.tasks, image.tasks[id].seq - 1, 't', {id}) end
end

-- The numbers that were given out are not given out again.
local function check_numbers(image)
  local least = {task = 0, place = 0, event = 0}
  for _, fields in pairs(image.tasks) do
    least.task = math.max(least.task, tonumber(fields.seq))
    least.place = math.max(least.place, tonumber(fields.place))
  end
  local last = call('XREVRANGE', KEY.events, '+', '-', 'COUNT', 1)[1]
  least.event = last and tonumber(string.match(last[1], '^%d+')) or 0
  for name, number in pairs(least) do
    local stored = tonumber(call('HGET', KEY.seq, name)) or 0
    if stored < number then
      found('number_wrong', name .. ' is ' .. whole(stored) .. ', below ' .. whole(number), mending)
      if mending then call('HSET', KEY.seq, name, whole(number)) end
    end
  end
end

-- Tasks that are gone may still be in an entry with others.
local function check_task_list(image)
  local listed_tasks, wrong = {}, false
  for _, entry in ipairs(call('XRANGE', KEY.tasks, '-', '+')) do
    local seq, live = number_of(entry), 0
    for i = #entry[2], 2, -2 do
      local id = entry[2][i]
      if image.tasks[id] and image.tasks[id].seq == whole(seq) then
        listed_tasks[id] = true
        live = live + 1
      elseif image.tasks[id] or image.unreadable[id] then
        live = live + 1
      end
      seq = seq - 1
    end
    if live == 0 then
      found('task_list_wrong', entry[1] .. ' is of no task', mending)
      wrong = true
    end
  end
  for id in pairs(image.tasks) do
    if not listed_tasks[id] then
      found('task_list_wrong', 'task ' .. id .. ' is not listed', mending)
      wrong = true
    end
  end
  if wrong and mending then rebuild_task_list(image) end
end

local OF_TASKS = {NAME.body, NAME.result, NAME.checkpoint, NAME.progress, NAME.history, NAME.log, NAME.log_totals}

local function check_orphans(image)
  for _, kind in ipairs(OF_TASKS) do
    for _, id in ipairs(keys_of(kind)) do
      if not image.tasks[id] and not image.unreadable[id] then
        found('orphan', kind .. id, mending)
        if mending then call('DEL', P .. kind .. id) end
      end
    end
  end
end

-- The days of the ledger.
local function check_ledger()
  local known = {}
  for _, day in ipairs(call('ZRANGE', KEY.ledger_days, 0, -1)) do known[day] = true end
  for _, day in ipairs(keys_of(NAME.ledger)) do
    if not known[day] then
      found('index_wrong', 'ledger_days lacks ' .. day, mending)
      if mending then call('ZADD', KEY.ledger_days, (string.gsub(day, '-', '')), day) end
    end
    known[day] = nil
  end
  for day in pairs(known) do
    found('index_wrong', 'ledger_days holds ' .. day .. ' wrongly', mending)
    if mending then call('ZREM', KEY.ledger_days, day) end
  end
end

-- Names of conversations, and what belongs to none. What is in them is checked in C++.
local function check_conversations()
  local known, there = {}, {}
  for _, name in ipairs(call('ZRANGE', KEY.conversations, 0, -1)) do known[name] = true end
  for _, name in ipairs(keys_of(NAME.conversation)) do
    there[name] = true
    if not known[name] then
      found('index_wrong', 'conversations lacks ' .. name, mending)
      if mending then call('ZADD', KEY.conversations, 0, name) end
    end
    known[name] = nil
  end
  for name in pairs(known) do
    found('index_wrong', 'conversations holds ' .. name .. ' wrongly', mending)
    if mending then call('ZREM', KEY.conversations, name) end
  end
  for _, name in ipairs(keys_of(NAME.conversation_bodies)) do
    if not there[name] then
      found('orphan', NAME.conversation_bodies .. name, mending)
      if mending then call('DEL', KEY.conversation_bodies .. name) end
    end
  end
end

-- ---- counts

-- From the moves of all tasks: field -> number.
local function right_counts()
  local right = {}
  for lane, states in pairs(moves) do
    for state, tasks in pairs(states) do
      for _, field in ipairs(fields_of(parts_of(lane), state)) do right[field] = (right[field] or 0) + tasks end
    end
  end
  for state, bytes in pairs(moved_bytes) do right['bytes|' .. state] = bytes ~= 0 and bytes or nil end
  for field, n in pairs(questions.moves) do right[field] = n ~= 0 and n or nil end
  moves, moved_bytes, questions.moves = {}, {}, {}
  return right
end

local function check_counts()
  local right, stored, wrong = right_counts(), {}, false
  local flat = call('HGETALL', KEY.counts)
  for i = 1, #flat, 2 do stored[flat[i]] = tonumber(flat[i + 1]) end
  for field, value in pairs(right) do
    if stored[field] ~= value then
      wrong = true
      found('counts_wrong', field .. ' is ' .. (stored[field] or 0) .. ', not ' .. whole(value), mending)
    end
  end
  for field, value in pairs(stored) do
    if value ~= 0 and not right[field] then
      wrong = true
      found('counts_wrong', field .. ' is ' .. whole(value) .. ', not 0', mending)
    end
  end
  if not wrong or not mending then return end
  call('DEL', KEY.counts)
  kept.read_anew()
  for field, value in pairs(right) do kept.set(KEY.counts, field, value) end
end

-- ---- lanes

local LANE_KEYS = {NAME.lane, NAME.line, NAME.group, NAME.oldest, NAME.waits}

-- Everything that says where lanes are, from the tasks. Lanes begin open: gates park them again.
local function rebuild_lanes(image)
  for _, kind in ipairs(LANE_KEYS) do
    for _, name in ipairs(keys_of(kind)) do call('DEL', P .. kind .. name) end
  end
  call('DEL', KEY.lanes, KEY.waited, KEY.wake, KEY.cursor, KEY.damaged_lanes)
  kept.read_anew()
  for _, lane in ipairs(image.lane_names) do findings.rebuild_lane(lane, image.lanes[lane]) end
end

local function check_lanes(image)
  local before = findings.n()
  for _, name in ipairs(keys_of(NAME.lane)) do
    if not image.lanes[name] then found('lane_wrong', name .. ': no task is in it', mending) end
  end
  for _, lane in ipairs(call('HKEYS', KEY.lanes)) do
    if not image.lanes[lane] then found('lane_wrong', lane .. ': no task is in it', mending) end
  end
  for _, lane in ipairs(image.lane_names) do
    local wrong = findings.wrong_in_lane(lane, image.lanes[lane])
    if wrong then found('lane_wrong', lane .. ': ' .. wrong, mending) end
  end
  local wrong = findings.wrong_in_groups(image, keys_of(NAME.group))
  if wrong then found('lane_wrong', wrong, mending) end
  for _, lane in ipairs(call('SMEMBERS', KEY.damaged_lanes)) do found('lane_wrong', lane .. ': it is put apart', mending) end
  if mending and findings.n() > before then rebuild_lanes(image) end
end

-- ---- gates

-- Whether the policy gives owners weights.
local function wants_weights()
  local version = call('HGET', KEY.config, 'version')
  local document = version and call('HGET', KEY.config, 'document:' .. version)
  local readable, policy = pcall(cjson.decode, document or '{}')
  local owners = readable and type(policy) == 'table' and policy.owners
  for _, owner in pairs(type(owners) == 'table' and owners or {}) do
    if type(owner) == 'table' and owner.weight then return true end
  end
  return false
end

-- What a gate enforces follows from its record, but only C++ can tell how.
-- right, from the third: name, revision of the record, limits, …; a gate that was set since is left alone.
local function check_limits(right)
  local stored = {}
  local flat = call('HGETALL', KEY.gates)
  for i = 1, #flat, 2 do stored[flat[i]] = flat[i + 1] end
  for i = 3, #right, 3 do
    local name, limits = right[i], right[i + 2]
    if (stored[name] or '') ~= limits and gates.revision(name) == tonumber(right[i + 1]) then
      found('limits_wrong', 'gate ' .. name .. ' does not enforce what its record says', mending)
      if mending then gates.set_limits(name, limits) end
    end
  end
  -- Where all records are lost, what was paused or limited stays so until somebody sets it anew.
  local drops = mending and call('EXISTS', KEY.gate_records) == 1
  for name in pairs(stored) do
    if not string.find(name, '^weight:') and gates.revision(name) == 0 then
      found('limits_wrong', 'gate ' .. name .. ' enforces limits and has no record', drops)
      if drops then gates.set_limits(name, '') end
    end
  end
  -- The engine writes them again, with the policy.
  if not stored['weight:*'] and wants_weights() then
    found('weights_missing', 'the weights of owners are not those of the policy', false)
  end
end

local function check_asides()
  budgets.recount_if_stale()
  kept.save()
  local right, stored = budgets.count_asides(), {}
  local flat = call('HGETALL', KEY.aside)
  for i = 1, #flat, 2 do stored[flat[i]] = tonumber(flat[i + 1]) end
  local is_wrong = false
  for field, amount in pairs(right) do is_wrong = is_wrong or stored[field] ~= amount end
  for field in pairs(stored) do is_wrong = is_wrong or not right[field] end
  if not is_wrong then return end
  found('aside_wrong', 'what is set aside behind gates with budgets is not that of the running tasks', mending)
  if mending then budgets.recount() end
end

local function check_gates(image)
  local in_use = {}
  for _, lane in ipairs(image.lane_names) do
    local parts = parts_of(lane)
    local all = gates.limits(parts)
    for _, id in pairs(image.lanes[lane].running) do
      for i, name in ipairs(parts.gates) do
        local started = tonumber(image.tasks[id].started)
        if all[i] and all[i].permits and started >= all[i].counted_from then in_use[name] = (in_use[name] or 0) + 1 end
      end
    end
  end
  local flat = call('HGETALL', KEY.in_use)
  local stored = {}
  for i = 1, #flat, 2 do stored[flat[i]] = tonumber(flat[i + 1]) end
  for name, used in pairs(in_use) do
    if stored[name] ~= used then
      found('permits_wrong', name .. ' counts ' .. (stored[name] or 0) .. ', not ' .. used, mending)
      if mending then kept.set(KEY.in_use, name, used) end
    end
  end
  for name, used in pairs(stored) do
    if used ~= 0 and not in_use[name] then
      found('permits_wrong', name .. ' counts ' .. used .. ', not 0', mending)
      if mending then kept.set(KEY.in_use, name, false) end
    end
  end
end

-- Where lanes wait, from the lanes: gate -> {queues, the smallest cost of what waits there}.
local function waits_of_lanes(image)
  local waits = {}
  for _, lane in ipairs(image.lane_names) do
    local where = where_is(lane)
    if where and where.gate ~= '' then
      local parts = parts_of(lane)
      local one = waits[where.gate] or {queues = {}, types = {}, cost = math.huge}
      one.types[parts.type] = true
      one.queues[parts.queue] = true
      one.cost = math.min(one.cost, parts.cost)
      waits[where.gate] = one
    end
  end
  return waits
end

local function check_waits_of_nobody(waits)
  local function drop(name, what, command, key, member)
    found('gate_wait_wrong', 'gate ' .. name .. ' ' .. what .. ', but nobody waits there', mending)
    if mending then call(command, P .. key, member) end
  end
  for _, name in ipairs(keys_of(NAME.waits)) do
    for _, queue in ipairs(call('ZRANGE', KEY.waits .. name, 0, -1)) do
      if not waits[name] or not waits[name].queues[queue] then
        drop(name, 'is waited at in queue ' .. queue, 'ZREM', NAME.waits .. name, queue)
      end
    end
  end
  for _, name in ipairs(call('ZRANGE', KEY.waited, 0, -1)) do
    if not waits[name] then drop(name, 'is waited at', 'ZREM', NAME.waited, name) end
  end
  for _, name in ipairs(call('ZRANGE', KEY.wake, 0, -1)) do
    if not waits[name] then drop(name, 'is to be looked at', 'ZREM', NAME.wake, name) end
  end
  for _, name in ipairs(call('HKEYS', KEY.cursor)) do
    if not waits[name] then drop(name, 'was gone round', 'HDEL', NAME.cursor, name) end
  end
end

-- Whoever frees a gate at which lanes wait has it looked at, now or at the time when it will let them go.
local function check_wakes(image)
  local waits = waits_of_lanes(image)
  check_waits_of_nobody(waits)
  for name, one in pairs(waits) do
    if not call('ZSCORE', KEY.waited, name) then
      found('gate_wait_wrong', 'lanes wait at gate ' .. name .. ', which is not among those that are waited at', mending)
      if mending then call('ZADD', KEY.waited, 0, name) end
    end
    local limits = gates.limits_of(name) or gates.NONE
    local least
    for of_type in pairs(limits.budgets and one.types or {}) do
      local of_gate = gates.limits_of('type:' .. of_type)
      local per_run = of_gate and of_gate.per_run or {usd = 0, tokens = 0, turns = 0, wall = 0}
      local before = least or per_run
      least = {usd = math.min(before.usd, per_run.usd), tokens = math.min(before.tokens, per_run.tokens),
               turns = math.min(before.turns, per_run.turns), wall = math.min(before.wall, per_run.wall)}
    end
    local room, look_again = gates.ask(limits, gates.use(name, limits), one.cost, least)
    if (room > 0 or look_again) and not call('ZSCORE', KEY.wake, name) then
      found('gate_asleep', 'lanes wait at gate ' .. name .. ' that nobody will look at', mending)
      if mending then gates.look_now(name) end
    end
  end
end

-- args: now, 'check' or 'repair', what gates must enforce (see check_limits). Answers {code, detail, repaired, tasks that the caller has to mend by the rules}…
function functions.fsck(keys, args)
  begin(keys, args)
  findings.start(FINDINGS_MAX)
  mending = args[2] == 'repair'
  look_at_keys()
  if not check_types() then return findings.all() end
  lanes.start()
  kept.read_anew()
  if mending then
    kept.changed()
    due_at(NOW)
  end
  local image = image_of_tasks()
  add_questions(image)
  check_sets(image)
  check_relations(image)
  check_requests(image)
  check_numbers(image)
  check_task_list(image)
  check_orphans(image)
  check_ledger()
  check_conversations()
  check_counts()
  check_limits(args)
  check_lanes(image)
  check_gates(image)
  check_asides()
  check_wakes(image)
  lanes.tell_pools()
  finish()
  return findings.all()
end
