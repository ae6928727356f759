-- Adds: groups of new tasks that wait, with nothing beside their record. The client (new_tasks.cc) makes what is written, but
-- for the numbers that are given out here, and says once what tasks have in common.

local DONE, ID_TAKEN = 0, 2  -- verdicts, as in 5_steps.lua

-- of tasks that share a lane, an event (with * for the task) and what their records say behind their size; then of each:
-- id, body
local LANE, EVENT, RECORD, TASKS_N, SHARED_SIZE = 0, 1, 2, 3, 4
local TASK_SIZE = 2

-- Where each group's list of room and its tasks begin; and the keys of all records.
local function lay_out(args)
  local groups, keys, n, at = {}, {}, 0, 2
  while args[at] do
    local group = {room = at + 1, shared = at + 2 + args[at], first = n + 1}
    at = group.shared
    for _ = 1, tonumber(args[at - 1]) do
      local first = at + SHARED_SIZE
      at = first + args[at + TASKS_N] * TASK_SIZE
      for task = first, at - 1, TASK_SIZE do
        n = n + 1
        keys[n] = KEY.task .. args[task]
      end
    end
    group.last = n
    groups[#groups + 1] = group
  end
  return groups, keys
end

-- Those of one group that share something; answers with where the next ones begin, and the key before theirs.
local function add_tasks(args, shared, keys, n)
  local lane, record = args[shared + LANE], args[shared + RECORD]
  local pushes, added = steps.pushes_to(lane), event.alike(args[shared + EVENT])
  local n_pushes, n_added, n_listed, n_writes = #pushes, #added, #listed, #writes
  local tasks_n = tonumber(args[shared + TASKS_N])
  local seq, place, bytes, bodies = number_before('task', tasks_n), number_before('place', tasks_n), 0, KEY.body
  local first = shared + SHARED_SIZE
  local till = first + tasks_n * TASK_SIZE
  for task = first, till - 1, TASK_SIZE do
    local id, body = args[task], args[task + 1]
    seq, place, n = seq + 1, place + 1, n + 1
    local key, place_text = keys[n], whole(place)
    local text = records.new_text(whole(seq), place_text, whole(#body), record)
    held[key] = text
    writes[n_writes + 1], writes[n_writes + 2], writes[n_writes + 3], writes[n_writes + 4] = key, text, bodies .. id, body
    pushes[n_pushes + 1], pushes[n_pushes + 2] = id, place_text
    n_writes, n_pushes, n_listed, n_added, bytes = n_writes + 4, n_pushes + 2, n_listed + 1, n_added + 1, bytes + #body
    listed[n_listed], added[n_added] = id, id
  end
  move(lane, 'pending', tasks_n, bytes)
  return till, n
end

local function add_group(args, group, keys)
  for i = group.first, group.last do
    if held[keys[i]] then return ID_TAKEN end
  end
  local room = steps.room_for(args, group.room, group.shared - 2)
  if room ~= DONE then return room end
  local shared, n = group.shared, group.first - 1
  while n < group.last do shared, n = add_tasks(args, shared, keys, n) end
  return DONE
end

-- args: now, then of each group: the size of the list of what room it asks for, that list, how many lists of tasks that share
-- something, these. Answers with the verdict on each group.
function functions.add(keys, args)
  begin(keys, args)
  lanes.start()
  steps.start_writes()
  local groups, record_keys = lay_out(args)
  fetch(record_keys)
  local verdicts = {}
  for i = 1, #groups do verdicts[i] = add_group(args, groups[i], record_keys) end
  steps.flush_writes()
  lanes.tell_pools()
  finish()
  return verdicts
end
