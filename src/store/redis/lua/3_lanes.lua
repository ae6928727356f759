-- Lanes, and the lines in which they stand. docs/internals/lanes-and-gates.md is the specification.

local UNIT = 1000
local touched = {}  -- open lines whose best rank may have changed in this call

-- ---- virtual time

local function virtual_times(parts)
  return kept.number(parts.vt, parts.group), kept.number(parts.vt, parts.rank_text) or 0
end

-- Idling gives no credit.
local function raise_to_clock(parts)
  local vt, clock = virtual_times(parts)
  if not vt or vt < clock then
    vt = clock
    kept.set(parts.vt, parts.group, vt)
  end
  return vt
end

-- ---- lines

local function enter(line, lane, parts, head, vt)
  line = line_of(line)
  kept.rank(group_in(line, parts.group).key, lane, head)
  kept.rank(line.key, parts.group, parts.rank * BAND + vt)
end

local function leave(line, lane, parts)
  line = line_of(line)
  local group = group_in(line, parts.group).key
  kept.unrank(group, lane)
  if kept.is_empty(group) then kept.unrank(line.key, parts.group) end
end

-- What is asked of each group of a line that was only read now.
local function read_virtual_times(parts, groups)
  local fields, seen = {parts.served}, {}
  for i = 1, #groups do
    local rank = string.sub(groups[i], 1, 1)
    if not seen[rank] then fields[#fields + 1] = rank end
    seen[rank] = true
    fields[#fields + 1] = groups[i]
  end
  kept.read_numbers(parts.vt, fields)
end

-- The first group of a line with its virtual time and the clock of its rank, and what the line has served; nil if the line
-- is empty.
local function first_group(line)
  local parts = line_of(line)
  local key, vts = parts.key, parts.vt
  while true do
    local group, score, read = kept.first(key)
    if not group then return nil end
    if read then read_virtual_times(parts, read) end
    local here = group_in(parts, group)
    local vt = kept.number(vts, group) or 0
    local right = here.band + vt
    if right <= score then return group, vt, kept.number(vts, here.rank) or 0, kept.number(vts, parts.served) or 0 end
    kept.rank(key, group, right)
  end
end

-- The first lane of a group. Of an open line the score of a lane may be out of date, but only too small: heads move on.
local function first_of_group(line, group)
  local parts = line_of(line)
  local key = group_in(parts, group).key
  while true do
    local lane, score = kept.first(key)
    if not parts.is_open or not lane or kept.is_single(key) then return lane end
    local head = kept.score(parts.oldest, lane)
    if not head or head <= score then return lane end
    kept.rank(key, lane, head)
  end
end

-- The first lane of a line; nil if it is empty.
local function first(line)
  local group = first_group(line)
  return group and first_of_group(line, group)
end

-- ---- where a lane is: "last returned gate", see the keys' reference
-- last: the place of the last entry that was delivered; returned: how many came back; gate: where it is parked, '' if open

local function new_where(last, returned, gate)
  return {last = last, returned = returned, gate = gate, to_text = lanes.text_of_where}
end

function lanes.text_of_where(where)
  return whole(where.last) .. ' ' .. where.returned .. ' ' .. where.gate
end

local function where_is(lane)
  local where = kept.remembered('where')[lane]
  if where ~= nil then return where end
  local text = kept.text(KEY.lanes, lane)
  if not text then return false end
  local last, returned, gate = string.match(text, '^(%d+) (%d+) (.*)$')
  return kept.remember('where', lane, new_where(tonumber(last), tonumber(returned), gate))
end

local function set_where(lane, where)
  kept.remember('where', lane, where)
  kept.set(KEY.lanes, lane, where)
end

-- Nothing waits in it.
local function leave_lanes(lane)
  kept.remembered('where')[lane] = nil
  kept.set(KEY.lanes, lane, false)
end

-- The smallest place of its waiting tasks; nil if none is left.
local function head_of(lane, where)
  local key = parts_of(lane).key
  if where.returned > 0 then
    local back = redis.pcall('XPENDING', key, GROUP, '-', '+', 1, 'returned')
    if back[1] then return tonumber(string.match(back[1][1], '^%d+')) end
  end
  local fresh = redis.pcall('XRANGE', key, '(' .. whole(where.last) .. '-0', '+', 'COUNT', 1)
  return fresh[1] and tonumber(string.match(fresh[1][1], '^%d+'))
end

local function set_oldest(lane, parts, head)
  for i = 1, 2 do kept.rank(line_of(parts.lines[i]).oldest, lane, head) end
end

-- The head has moved, maybe backwards.
local function set_head(lane, parts, where, head)
  if where.gate ~= '' then
    kept.rank(KEY.group .. where.gate .. '||' .. parts.queue .. '|' .. parts.group, lane, head)
    return
  end
  for i = 1, 2 do kept.rank(parts.groups[i], lane, head) end
  set_oldest(lane, parts, head)
end

local function enter_open(lane, parts, head)
  local vt = raise_to_clock(parts)
  for _, line in ipairs(parts.lines) do
    enter(line, lane, parts, head, vt)
    touched[line] = (touched[line] or 0) + 1
  end
  set_oldest(lane, parts, head)
end

local function leave_open(lane, parts)
  for _, line in ipairs(parts.lines) do
    leave(line, lane, parts)
    kept.unrank(line_of(line).oldest, lane)
    touched[line] = touched[line] or 0
  end
end

local function leave_parked(lane, parts, gate)
  local line = gate .. '||' .. parts.queue
  leave(line, lane, parts)
  if kept.is_empty(line_of(line).key) then
    call('ZREM', KEY.waits .. gate, parts.queue)
    if not gates.has_waiting(gate) then
      call('ZREM', KEY.waited, gate)
      call('ZREM', KEY.wake, gate)
      call('HDEL', KEY.cursor, gate)
    end
  end
end

local function leave_lines(lane, parts, where)
  if where.gate == '' then leave_open(lane, parts) else leave_parked(lane, parts, where.gate) end
end

local function park(lane, parts, where, gate, head, look_again)
  leave_open(lane, parts)
  local vt = virtual_times(parts) or 0
  enter(gate .. '||' .. parts.queue, lane, parts, head, vt)
  call('ZADD', KEY.waits .. gate, 0, parts.queue)
  call('ZADD', KEY.waited, 0, gate)
  if look_again then
    call('ZADD', KEY.wake, 'LT', whole(look_again), gate)
    due_at(look_again)
  end
  where.gate = gate
end

local function wake(lane, parts, where)
  local head = kept.score(KEY.group .. where.gate .. '||' .. parts.queue .. '|' .. parts.group, lane)
  leave_parked(lane, parts, where.gate)
  where.gate = ''
  enter_open(lane, parts, head)
  set_where(lane, where)
end

-- ---- entries of tasks that are done with a lane
-- To delete one by its id, or to trim, goes through its node from the start. So an entry may stay for a while after its
-- task, acknowledged: those of a lane never stand further apart than so many places.

local LEFT_MAX = 1000

-- Of a lane that was trimmed: `n` entries are delivered and not acknowledged; before `oldest` nothing is left.
local function undone_of(lane)
  return kept.remembered('undone')[lane]
end

local function forget_undone(lane)
  kept.remembered('undone')[lane] = nil
end

-- What stands before the oldest entry that is not done goes: that is one that runs or came back, else the one behind the last
-- delivered. A lane that nobody waits in, and of which nobody runs, has no stream. Answers with the place of the oldest;
-- nil if there is none.
local function trim(lane, key)
  forget_undone(lane)
  local pending = redis.pcall('XPENDING', key, GROUP)
  if pending.err then return nil end
  local oldest, where = pending[2] and tonumber(string.match(pending[2], '^%d+')), where_is(lane)
  if not oldest and where then oldest = where.last + 1 end
  if not oldest then
    call('DEL', key)
    return nil
  end
  call('XTRIM', key, 'MINID', '=', whole(oldest))
  kept.remember('undone', lane, {n = pending[1], oldest = oldest})
  return oldest
end

-- ---- tasks in lanes

-- New tasks at the tail: id, place (as text), id, place, …, places growing.
function lanes.push(lane, tasks)
  local parts = parts_of(lane)
  local key = parts.key
  local where = where_is(lane)
  local head = tonumber(tasks[2])
  if not where then
    if call('EXISTS', key) == 0 then call('XGROUP', 'CREATE', key, GROUP, '0', 'MKSTREAM') end
    set_where(lane, new_where(head - 1, 0, ''))
    enter_open(lane, parts, head)
  end
  if not where or where.gate == '' then
    for _, line in ipairs(parts.lines) do touched[line] = (touched[line] or 0) + #tasks / 2 end
  end
  for i = 1, #tasks, 2 do call('XADD', key, tasks[i + 1], 't', tasks[i]) end
end

-- A task that ran comes back to its old place. False: its entry is gone, it needs a new one.
function lanes.give_back(lane, place)
  local parts = parts_of(lane)
  local key = parts.key
  local claimed = redis.pcall('XCLAIM', key, GROUP, 'returned', 0, whole(place) .. '-0', 'JUSTID')
  if claimed.err or #claimed == 0 then return false end
  local where = where_is(lane)
  if not where then
    where = new_where(number_before('place', 0), 1, '')
    enter_open(lane, parts, place)
  else
    where.returned = where.returned + 1
    local head = head_of(lane, where)
    set_head(lane, parts, where, head)
    for _, line in ipairs(parts.lines) do touched[line] = (touched[line] or 0) + 1 end
  end
  set_where(lane, where)
  return true
end

-- A waiting task leaves: cancelled, or its deadline passed.
function lanes.remove(lane, place)
  local parts = parts_of(lane)
  local key = parts.key
  local entry = whole(place) .. '-0'
  local where = where_is(lane)
  if not where then return end
  local last = where.last
  if place <= last and call('XACK', key, GROUP, entry) == 1 then where.returned = where.returned - 1 end
  call('XDEL', key, entry)
  local head = head_of(lane, where)
  if head then
    set_head(lane, parts, where, head)
    set_where(lane, where)
  else
    leave_lines(lane, parts, where)
    leave_lanes(lane)
  end
  if place <= last or not head then trim(lane, key) end
end

do
  -- Those of the places that are not smaller than this one; nil if there are none.
  local function places_from(first, places)
    local text, far = whole(first), nil
    local size = #text
    for i = 1, #places do
      local place = places[i]
      if #place >= size and (#place > size or place >= text) then
        far = far or {}
        far[#far + 1] = place
      end
    end
    return far
  end

  -- These places are done; so many of them were acknowledged just now.
  local function drop_done(lane, key, places, acked)
    local undone = undone_of(lane)
    if undone then
      undone.n = undone.n - acked
      local may_be_empty = undone.n <= 0 and not where_is(lane)
      if not may_be_empty and not places_from(undone.oldest + LEFT_MAX, places) then return end
    end
    local oldest = trim(lane, key)
    local far = oldest and places_from(oldest + LEFT_MAX, places)
    if far then call_in_pieces('XDEL', key, far) end
  end

  -- Entries of tasks that ran and do not come back, by their places as text.
  function lanes.drop(lane, places)
    local key, acked = parts_of(lane).key, 0
    for from = 1, #places, PIECE do
      local n = redis.pcall('XACK', key, GROUP, unpack(places, from, math.min(from + PIECE - 1, #places)))
      if type(n) == 'table' then return end
      acked = acked + n
    end
    drop_done(lane, key, places, acked)
  end
end

-- A lane whose stream is damaged: put apart until it is rebuilt from its tasks, which the next sweep sees to.
function lanes.give_up(lane, parts)
  leave_lines(lane, parts, where_is(lane) or {gate = ''})
  leave_lanes(lane)
  call('SADD', KEY.damaged_lanes, lane)
  due_at(NOW)
end
