-- fsck of the output of tasks: whether the totals are the sum of the pieces. In steps, because it may be gigabytes. A repair
-- makes the totals from the pieces.

local found, drop_wrong_type = findings.found, findings.drop_wrong_type
local mending

local LOG_BYTES, KEYS_SCANNED = 4 * 1024 * 1024, 10000  -- about what one step looks at
local PIECES_READ = 64

-- What the pieces come to: run -> {head, tail}, by where its tail begins; the number of the last one; the bytes of all.
local function sum_pieces(id, totals)
  local sums, last, all = {}, 0, 0
  repeat
    local pieces = call('XRANGE', KEY.log .. id, '(' .. whole(last) .. '-0', '+', 'COUNT', PIECES_READ)
    for _, piece in ipairs(pieces) do
      last = number_of(piece)
      local run, bytes = piece[2][2], #(piece[2][8] or '')
      local sum = sums[run] or {head = 0, tail = 0}
      local tail = tonumber(totals['tail:' .. run]) or 0
      local half = tail > 0 and last >= tail and 'tail' or 'head'
      sum[half], all, sums[run] = sum[half] + bytes, all + bytes, sum
    end
  until #pieces < PIECES_READ
  return sums, last, all
end

local function check_log_total(id, run, totals, sum)
  if tonumber(totals['head_bytes:' .. run]) == sum.head and tonumber(totals['tail_bytes:' .. run]) == sum.tail then return end
  found('log_total_wrong', 'task ' .. id .. ': log total of run ' .. run .. ' is not the sum of its pieces', mending)
  if not mending then return end
  call('HSET', KEY.log_totals .. id, 'head_bytes:' .. run, whole(sum.head), 'tail_bytes:' .. run, whole(sum.tail))
end

-- Where the pieces are numbered anew from the beginning, the stream takes no more of them.
local function check_last_piece(id, totals, last)
  if (tonumber(totals.last) or 0) >= last then return end
  found('number_wrong', 'task ' .. id .. ': its last piece of output is ' .. (totals.last or '0') .. ', below ' .. whole(last), mending)
  if mending then call('HSET', KEY.log_totals .. id, 'last', whole(last)) end
end

-- Answers how many bytes it has looked at.
local function check_log(id)
  local totals, flat = {}, call('HGETALL', KEY.log_totals .. id)
  for i = 1, #flat, 2 do totals[flat[i]] = flat[i + 1] end
  local sums, last, bytes = sum_pieces(id, totals)
  for field in pairs(totals) do
    local run = string.match(field, '^%l+_bytes:(%d+)$')
    if run and not sums[run] then sums[run] = {head = 0, tail = 0} end
  end
  for run, sum in pairs(sums) do check_log_total(id, run, totals, sum) end
  check_last_piece(id, totals, last)
  return bytes
end

-- Whether it can be looked at. One of another type is told by the call that looks at all keys, if it does not go here.
local function is_usable(key, right)
  local stored = call('TYPE', P .. key).ok
  if stored == right or stored == 'none' then return true end
  if mending then drop_wrong_type(key, stored, right, mending) end
  return mending
end

-- Of a key of output. That of a task that is gone goes with all that is left of it.
local function check_log_of(name)
  local kind, id = string.match(name, '^(log[%l_]*:)(.+)$')
  local is_twice = kind == NAME.log_totals and call('EXISTS', KEY.log .. id) == 1  -- it comes by its pieces, too
  if not id or is_twice or call('EXISTS', KEY.task .. id) == 0 then return 0 end
  if not is_usable(NAME.log .. id, 'stream') or not is_usable(NAME.log_totals .. id, 'hash') then return 0 end
  return check_log(id)
end

-- args: now, 'check' or 'repair', where to go on ('0': at the beginning). Answers {where to go on ('0': it was the last step),
-- findings as fsck has them}. A task may be looked at twice.
function functions.fsck_logs(keys, args)
  begin(keys, args)
  findings.start(math.huge)  -- the caller sums up
  mending = args[2] == 'repair'
  local cursor, scanned, bytes = args[3], 0, 0
  local logs = string.gsub(KEY.log, ':$', '*')  -- pieces and totals
  repeat
    local page = call('SCAN', cursor, 'MATCH', logs, 'COUNT', 100)
    cursor, scanned = page[1], scanned + 100
    for _, key in ipairs(page[2]) do bytes = bytes + check_log_of(string.sub(key, #P + 1)) end
  until cursor == '0' or scanned >= KEYS_SCANNED or bytes >= LOG_BYTES
  return {cursor, findings.all()}
end
