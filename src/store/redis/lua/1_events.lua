-- Events: every transition is one. They are numbered and written at the end of a call, many to an entry of a stream.
-- An entry has the time, and under 'e' one event, under 'm' many that are alike: the text, and behind it the ids of their tasks.

-- A text with * for the task, of tasks of which the same is told: answers what their ids are to be added to.
function event.alike(text)
  local last = events[#events]
  if type(last) == 'table' and last.text == text then return last end
  last = {text = text}
  events[#events + 1] = last
  return last
end

local function count()
  local n = 0
  for i = 1, #events do
    local one = events[i]
    n = n + (type(one) == 'table' and #one or 1)
  end
  return n
end

function event.append()
  local all = count()
  if all == 0 then return end
  epoch.check()
  local entry, n, number = {'at', NOW_TEXT}, 0, number_before('event', all)
  local function flush()
    if n == 0 then return end
    number = number + n
    call('XADD', KEY.events, whole(number) .. '-0', unpack(entry))
    entry, n = {'at', NOW_TEXT}, 0
  end
  local function add(name, value, added)
    entry[#entry + 1] = name
    entry[#entry + 1] = value
    n = n + added
    if n == ENTRY_MAX then flush() end
  end
  for i = 1, #events do
    local one = events[i]
    if type(one) == 'string' then
      add('e', one, 1)
    else
      local from = 1
      while from <= #one do
        local till = math.min(#one, from + ENTRY_MAX - n - 1)
        add('m', one.text .. '\n' .. table.concat(one, ' ', from, till), till - from + 1)
        from = till + 1
      end
    end
  end
  flush()
end

local ID_SIZE = 36

-- How many events an entry has.
function event.number_in(entry)
  local fields, n = entry[2], 0
  for i = 3, #fields, 2 do
    local value = fields[i + 1]
    local ids = fields[i] == 'm' and string.find(value, '\n', 1, true)
    n = n + (ids and (#value - ids + 1) / (ID_SIZE + 1) or 1)
  end
  return n
end

-- Their texts. One that is damaged is a text like others, which nobody can read.
function event.texts_in(entry)
  local fields, texts = entry[2], {}
  for i = 3, #fields, 2 do
    local head, tail, ids
    if fields[i] == 'm' then head, tail, ids = string.match(fields[i + 1], '^(.-)%*(.-)\n(.*)$') end
    if ids then
      for id in string.gmatch(ids, '%S+') do texts[#texts + 1] = head .. id .. tail end
    else
      texts[#texts + 1] = fields[i + 1]
    end
  end
  return texts
end
