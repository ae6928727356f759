-- fsck of one task: what its record says of itself.

local found = findings.found

-- worker|started|ended|run|…
local function run_in(line)
  return tonumber(string.match(line, '^[^|]*|[^|]*|[^|]*|(%d+)|'))
end

local function check_run_numbers(id, record)
  local counted_runs, highest = tonumber(record.run), 0
  if has_mark(record.marks, 'h') then
    for line in string.gmatch(get_once(KEY.history .. id) or '', '[^\n]+') do highest = math.max(highest, run_in(line) or 0) end
  end
  if highest > counted_runs then
    found('run_number_wrong', 'task ' .. id .. ': has run ' .. whole(highest) .. ' in its history, but counts ' .. record.run)
  end
  local last = inner_run(record) or ''
  if last == '' then return end
  local number = run_in(last)
  if not number or number < 1 or number > counted_runs or number <= highest then
    found('run_number_wrong', 'task ' .. id .. ': had its last run without a number of its own')
  end
end

-- Nothing else tells these times.
local function check_times(id, record, rest)
  if (IS_TERMINAL[record.state] == true) ~= (rest.finished_at ~= nil) then
    found('finish_time_wrong', 'task ' .. id .. ': is finished without a time, or has one without being finished')
  end
  if record.state == 'scheduled' and not rest.run_at then found('run_at_missing', 'task ' .. id .. ': scheduled without a time') end
  local of_runs = rest.run_usage or rest.ended_usage
  if (rest.usage == nil) ~= (of_runs == nil) or (rest.run_usage and record.state ~= 'running') then
    found('usage_wrong', 'task ' .. id .. ': its usage is not that of its runs')
  end
end

-- What its output comes to, by its totals.
local function log_bytes(id)
  local flat, bytes = call('HGETALL', KEY.log_totals .. id), 0
  for i = 1, #flat, 2 do
    if string.find(flat[i], '^%l+_bytes:') then bytes = bytes + (tonumber(flat[i + 1]) or 0) end
  end
  return bytes
end

-- The body, the result (in the record, or in a key of its own), the checkpoint and the output.
local function bytes_of(id, record, body, has_log)
  local bytes = #(body or '') + #(string.match(record.tail, '^[^\n]*\n[^\n]*\n(.*)$') or '')
  if has_mark(record.marks, 'r') then bytes = bytes + call('STRLEN', KEY.result .. id) end
  if has_mark(record.marks, 'c') then bytes = bytes + call('STRLEN', KEY.checkpoint .. id) end
  return bytes + (has_log and log_bytes(id) or 0)
end

local function check_held(id, record, body, has_log, mending)
  local bytes = bytes_of(id, record, body, has_log)
  if bytes == tonumber(record.bytes) then return end
  found('held_bytes_wrong', 'task ' .. id .. ': holds ' .. whole(bytes) .. ' bytes, but ' .. record.bytes .. ' are counted', mending)
  if not mending then return end
  record.bytes = whole(bytes)
  put_kept(id, record)
end

-- body: false if it is gone. has_log: whether there are totals of its output.
function findings.check_record(id, record, rest, body, has_log, mending)
  check_run_numbers(id, record)
  check_times(id, record, rest)
  check_held(id, record, body, has_log, mending)
end
