-- Apply: groups of steps of any kind; and new tasks and ends in the forms in which programs with earlier versions of this
-- library tell them.

local DONE, CONFLICT, ID_TAKEN = 0, 1, 2  -- verdicts, as in 5_steps.lua
local add_push = steps.add_push

-- ---- new tasks that wait, with nothing beside their record, as programs with version 1.8 tell it (g_adds.lua is of 1.9)
-- 'add', the size of the list of what room is asked for, that list, how many tasks, then of each: id, lane, bytes, the
-- record behind its place, body, event: with * for the task, false if it is that of the task before.
local NEW_SIZE = 6

local function first_new(list, group) return group + 3 + list[group + 1] end

local function add_tasks(list, group)
  local from = first_new(list, group)
  local n = list[from - 1]
  local till = from + n * NEW_SIZE - 1
  local records, bodies = P .. 't:', P .. 'b:'
  for step = from, till, NEW_SIZE do
    if held[records .. list[step]] then return ID_TAKEN end
  end
  local room = steps.room_for(list, group + 2, from - 2)
  if room ~= DONE then return room end
  local seq, place = number_before('task', n), number_before('place', n)
  local n_writes, n_listed, added = #writes, #listed, nil
  for step = from, till, NEW_SIZE do
    local id, lane, bytes, text, body, text_of_event = unpack(list, step, step + NEW_SIZE - 1)
    seq, place = seq + 1, place + 1
    local key, place_text = records .. id, whole(place)
    text = '1 ' .. whole(seq) .. ' ' .. place_text .. text
    held[key] = text
    writes[n_writes + 1], writes[n_writes + 2], writes[n_writes + 3], writes[n_writes + 4] = key, text, bodies .. id, body
    n_writes, n_listed = n_writes + 4, n_listed + 1
    listed[n_listed] = id
    if text_of_event then added = event.add(text_of_event) end
    if added then added[#added + 1] = id end
    add_push(lane, id, place_text)
    move(lane, 'pending', 1, bytes)
  end
  return DONE
end

-- ---- a run that ended for good, as programs with version 1.6 of this library tell it (f_ends.lua is of 1.7)
-- 'end', gate that must not have moved (or false), its revision, id, a pattern that the record fits as long as nothing
-- but renewals has moved, and that finds the worker, lane, place, started, bytes, bytes afterwards, state, the record
-- before the worker of the run, between it and the time of the end, and behind that, event, and room for its key.
local END_ID, END_KEY, END_SIZE = 3, 15, 16

local function end_run(list, group)
  local gate, revision, id, was, lane, place, started, bytes, bytes_after, state, head, middle, tail, text_of_event, key =
    unpack(list, group + 1, group + END_SIZE - 1)
  local text = held[key]
  local worker = text and string.match(text, was)
  if not worker or gate and gates.revision(gate) ~= revision then
    if text and not parse_record(text) then put_apart(id) end
    return CONFLICT
  end
  put(key, head .. worker .. middle .. NOW_TEXT .. tail)
  steps.add_end(lane, id, started)
  steps.add_drop(lane, place)
  steps.add_finished(id)
  events[#events + 1] = text_of_event
  move(lane, 'running', -1, -bytes)
  move(lane, state, 1, bytes_after)
  return DONE
end

-- ---- all of them

-- Where each group begins; and everything that the checks look at, read in one go. That new tasks are not there costs
-- less to learn than what they are.
local function lay_out(list, n)
  local groups, keys, new_keys, at = {}, {}, {}, 1
  local records = P .. 't:'
  for i = 1, n do
    groups[i] = at
    if list[at] == 'add' then
      local step = first_new(list, at)
      at = step + list[step - 1] * NEW_SIZE
      for new = step, at - 1, NEW_SIZE do new_keys[#new_keys + 1] = records .. list[new] end
    elseif list[at] == 'end' then
      local key = records .. list[at + END_ID]
      list[at + END_KEY] = key
      keys[#keys + 1] = key
      at = at + END_SIZE
    else
      at = steps.lay_out(at, keys)
    end
  end
  if #keys > 0 then fetch(keys) end
  for from = 1, #new_keys, PIECE do
    if call('EXISTS', unpack(new_keys, from, math.min(from + PIECE - 1, #new_keys))) > 0 then fetch(new_keys) end
  end
  return groups
end

local function apply_group(list, group)
  if list[group] == 'add' then return add_tasks(list, group) end
  if list[group] == 'end' then return end_run(list, group) end
  return steps.apply(group)
end

-- args: now, number of groups, groups, packed
function functions.apply(keys, args)
  begin(keys, args)
  lanes.start()
  steps.start_writes()
  local list = steps.unpack(args[3])
  local verdicts = {}
  for i, group in ipairs(lay_out(list, tonumber(args[2]))) do verdicts[i] = apply_group(list, group) end
  steps.flush_writes()
  lanes.tell_pools()
  finish()
  return verdicts
end
