-- Questions: a string each, q:ID, and who finds them. Its first line is what indexes go by: revision|wake|task|state, where wake
-- is '~' unless sweepers have to look at it, and task is '~' of a gate's question. Then comes JSON: core/question_json.h.

-- Of the first line: revision, wake, task, state. Nil if it is none.
function questions.head_of(text)
  return string.match(text or '', '^(%d+)|([%d~]+)|([^|\n]+)|(%l+)\n')
end

function questions.revision(id)
  return tonumber((questions.head_of(get(KEY.question .. id)))) or 0
end

-- questions.moves: field of the counts -> by how much this call changes it.
local function count(field, n)
  questions.moves[field] = (questions.moves[field] or 0) + n
end

-- Questions of a state, which are kept.
function questions.count(state, n) count('questions|' .. state, n) end

-- Tasks of an owner that are blocked and have open questions.
function questions.count_waits(owner, n)
  count('all|answer_wait', n)
  count('owner:' .. owner .. '|answer_wait', n)
end

-- head: wake|task|state
function questions.put(id, revision, head, json)
  local _, _, _, before = questions.head_of(get(KEY.question .. id))
  if before then questions.count(before, -1) end
  put(KEY.question .. id, whole(revision) .. '|' .. head .. '\n' .. json)
  local wake, task, state = string.match(head, '^([%d~]+)|([^|]+)|(%l+)$')
  questions.count(state, 1)
  if revision == 1 then
    call('ZADD', KEY.question_ids, 0, id)
    if task ~= '~' then call('ZADD', KEY.asked .. task, 0, id) end
  end
  if state == 'open' then call('ZADD', KEY.questions_open, 0, id) else call('ZREM', KEY.questions_open, id) end
  if wake ~= '~' then
    call('ZADD', KEY.questions, wake, id)
    due_at(tonumber(wake))
  else
    call('ZREM', KEY.questions, id)
  end
end

local function drop(id)
  local _, _, _, state = questions.head_of(get(KEY.question .. id))
  if state then questions.count(state, -1) end
  put(KEY.question .. id, false)
  call('ZREM', KEY.question_ids, id)
  call('ZREM', KEY.questions_open, id)
  call('ZREM', KEY.questions, id)
end
questions.drop = drop

-- They go with their task.
function questions.drop_of(task)
  local ids = call('ZRANGE', KEY.asked .. task, 0, -1)
  if #ids == 0 then return end
  for _, id in ipairs(ids) do drop(id) end
  call('DEL', KEY.asked .. task)
end

local function texts_of(ids)
  local keys, texts = {}, {}
  for i, id in ipairs(ids) do keys[i] = KEY.question .. id end
  if #keys > 0 then fetch(keys) end
  for i, key in ipairs(keys) do texts[i] = get(key) end
  return texts
end

-- args: now, ids… Answers the text of each, nil where there is none.
function functions.questions(keys, args)
  begin(keys, args)
  local ids = {}
  for i = 2, #args do ids[i - 1] = args[i] end
  return texts_of(ids)
end

-- args: now, task. Oldest first.
function functions.questions_of(keys, args)
  begin(keys, args)
  return texts_of(call('ZRANGE', KEY.asked .. args[2], 0, -1))
end

-- args: now, 'question_ids' or 'questions_open', the id before which they are, limit. Newest first.
function functions.list_questions(keys, args)
  begin(keys, args)
  return texts_of(call('ZREVRANGEBYLEX', KEY[args[2]], '(' .. args[3], '-', 'LIMIT', 0, args[4]))
end

-- args: now, the id after which they are or '', limit. Those that are open, oldest first.
function functions.open_questions(keys, args)
  begin(keys, args)
  local after = args[2] == '' and '-' or '(' .. args[2]
  return texts_of(call('ZRANGEBYLEX', KEY.questions_open, after, '+', 'LIMIT', 0, args[3]))
end

-- args: now, fields of the counts. Answers the number of each.
function functions.counts(keys, args)
  begin(keys, args)
  local numbers_of = call('HMGET', KEY.counts, unpack(args, 2))
  for i = 1, #args - 1 do numbers_of[i] = numbers_of[i] or '0' end
  return numbers_of
end

-- args: now, limit
function functions.due_questions(keys, args)
  begin(keys, args)
  return texts_of(call('ZRANGEBYSCORE', KEY.questions, '-inf', NOW_TEXT, 'LIMIT', 0, args[2]))
end
