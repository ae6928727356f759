-- fsck of lanes: what is wrong with where one is, in words, and a lane made anew from its tasks. `one` is what must be in it:
-- {waiting, running}, each place -> task. Nothing is found here: a_fsck.lua tells it, and says which lanes are made anew.

local function places_of(map)
  local places = {}
  for place in pairs(map) do places[#places + 1] = place end
  table.sort(places)
  return places
end

local function pending_places(key, consumer)
  local places = {}
  local all = redis.pcall('XPENDING', key, GROUP, '-', '+', 10000000, consumer)
  if all.err then return nil end
  for _, pending in ipairs(all) do places[tonumber(string.match(pending[1], '^%d+'))] = true end
  return places
end

local function wrong_entries(lane, one)
  local key = KEY.lane .. lane
  local entries = redis.pcall('XRANGE', key, '-', '+')
  if entries.err then return 'its stream is unreadable' end
  local running, returned = pending_places(key, 'running'), pending_places(key, 'returned')
  local where, seen, first_left = where_is(lane), {}, nil
  -- One of a task that is done may stay for a while.
  local function is_left(place)
    if not running or not returned or running[place] or returned[place] or where and place > where.last then return false end
    first_left = first_left or place
    return place < first_left + LEFT_MAX
  end
  for _, entry in ipairs(entries) do
    local place = tonumber(string.match(entry[1], '^%d+'))
    local id = one.waiting[place] or one.running[place]
    if id ~= entry[2][2] and (id or not is_left(place)) then return 'entry ' .. entry[1] .. ' belongs to no task of it' end
    seen[place] = true
  end
  for _, map in ipairs({one.waiting, one.running}) do
    for place, id in pairs(map) do
      if not seen[place] then return 'task ' .. id .. ' is not in it' end
    end
  end
  if #entries == 0 then return nil end
  if not running or not returned then return 'its group is gone' end
  for place, id in pairs(one.running) do
    if not running[place] then return 'the run of task ' .. id .. ' is not in its group' end
  end
  for place in pairs(running) do
    if not one.running[place] then return 'its group has a run at ' .. whole(place) .. ' that is over' end
  end
  for place in pairs(returned) do
    if not one.waiting[place] then return 'its group has a task at ' .. whole(place) .. ' that does not wait' end
  end
end

local function wrong_position(lane, one)
  local head = places_of(one.waiting)[1]
  local where = where_is(lane)
  if not head then return where and 'it is empty and still there' or nil end
  if not where then return 'it is not among the lanes' end
  local parts = parts_of(lane)
  if head_of(lane, where) ~= head then return 'its head is not its smallest place' end
  local lines = where.gate ~= '' and {where.gate .. '||' .. parts.queue} or parts.lines
  for _, line in ipairs(lines) do
    local score = tonumber(call('ZSCORE', KEY.group .. line .. '|' .. parts.group, lane) or nil)
    if not score or score > head or (where.gate ~= '' and score < head) then return 'it stands wrongly in line ' .. line end
    local group = call('ZSCORE', KEY.line .. line, parts.group)
    local vt = virtual_times(parts) or 0
    if not group or tonumber(group) > parts.rank * BAND + vt then return 'its group stands wrongly in line ' .. line end
    if where.gate == '' and tonumber(call('ZSCORE', KEY.oldest .. line, lane) or -1) ~= head then
      return 'it is not among the oldest of line ' .. line
    end
  end
  if where.gate ~= '' and not call('ZSCORE', KEY.waits .. where.gate, parts.queue) then
    return 'its gate does not know that it waits'
  end
end

function findings.wrong_in_lane(lane, one)
  return wrong_entries(lane, one) or wrong_position(lane, one)
end

-- names: of all groups.
function findings.wrong_in_groups(image, names)
  for _, name in ipairs(names) do
    for _, lane in ipairs(call('ZRANGE', KEY.group .. name, 0, -1)) do
      local parts = parts_of(lane)
      local one = image.lanes[lane]
      local where = one and where_is(lane)
      if not parts or not where then return 'a group holds ' .. lane .. ', which is no lane' end
      local right = where.gate ~= '' and name == where.gate .. '||' .. parts.queue .. '|' .. parts.group or
                    where.gate == '' and (name == parts.lines[1] .. '|' .. parts.group or name == parts.lines[2] .. '|' .. parts.group)
      if not right then return 'a group holds ' .. lane .. ', which stands elsewhere' end
    end
  end
end

-- Of its keys nothing may be left.
function findings.rebuild_lane(lane, one)
  local key = KEY.lane .. lane
  local all = {}
  for _, map in ipairs({one.waiting, one.running}) do
    for place, id in pairs(map) do all[place] = id end
  end
  local places = places_of(all)
  local last = places_of(one.running)
  last = last[#last] or 0
  call('XGROUP', 'CREATE', key, GROUP, '0', 'MKSTREAM')
  for _, place in ipairs(places) do call('XADD', key, whole(place) .. '-0', 't', all[place]) end
  local returned = 0
  for _, place in ipairs(places) do
    if place <= last then
      local consumer = one.running[place] and 'running' or 'returned'
      call('XCLAIM', key, GROUP, consumer, 0, whole(place) .. '-0', 'FORCE', 'JUSTID')
      if consumer == 'returned' then returned = returned + 1 end
    end
  end
  if last > 0 then call('XGROUP', 'SETID', key, GROUP, whole(last) .. '-0') end
  local head = places_of(one.waiting)[1]
  if not head then return end
  set_where(lane, new_where(math.max(last, last == 0 and head - 1 or 0), returned, ''))
  enter_open(lane, parts_of(lane), head)
end
