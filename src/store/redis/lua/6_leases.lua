-- Renewals, and what running tasks say of themselves. Both leave the revision alone.

-- args: now, worker, lease, then task and lease id of each. Answers 0 held, 1 cancel requested, 2 lost.
function functions.renew(keys, args)
  begin(keys, args)
  local worker = P .. 'worker:' .. args[2]
  if call('EXISTS', worker) == 1 then
    call('HSET', worker, 'last_beat_at', whole(NOW))
    call('ZADD', P .. 'workers', whole(NOW), args[2])
  end
  local until_ = whole(NOW + tonumber(args[3]))
  local answers = {}
  for i = 4, #args, 2 do
    local key = P .. 't:' .. args[i]
    local found = redis.pcall('HMGET', key, 'state', 'lease', 'cancel_requested_at')
    if found.err or found[1] ~= 'running' or found[2] ~= args[i + 1] then
      answers[#answers + 1] = 2
    else
      call('HSET', key, 'renewed', whole(NOW))
      call('HINCRBY', key, 'beats', 1)
      call('ZADD', P .. 'leases', until_, args[i])
      answers[#answers + 1] = found[3] and 1 or 0
    end
  end
  return answers
end

-- The output of a run: the first and the last half of the cap are kept, as pieces in a stream.
local function append_log(id, run, cap, pieces)
  local stream = P .. 'log:' .. id
  local totals_key = P .. 'log_totals:' .. id
  local totals = {}
  for i, name in ipairs({'last', 'tail:' .. run, 'head_bytes:' .. run, 'tail_bytes:' .. run, 'left_out:' .. run}) do
    totals[i] = tonumber(call('HGET', totals_key, name)) or 0
  end
  local last, tail, head_bytes, tail_bytes, left_out = unpack(totals)
  local half = math.max(1, math.floor(cap / 2))
  local before = head_bytes + tail_bytes
  for _, piece in ipairs(pieces) do
    last = last + 1
    call('XADD', stream, last .. '-0', 'run', run, 'at', whole(NOW), 'stream', piece.stream, 'text', piece.text)
    if tail == 0 and head_bytes + #piece.text <= half then
      head_bytes = head_bytes + #piece.text
    else
      if tail == 0 then tail = last end
      tail_bytes = tail_bytes + #piece.text
      while tail_bytes > half and tail < last do
        local oldest = call('XRANGE', stream, tail .. '-0', tail .. '-0')[1]
        if oldest then
          local size = #oldest[2][8]
          tail_bytes = tail_bytes - size
          left_out = left_out + size
          call('XDEL', stream, tail .. '-0')
        end
        tail = tail + 1
      end
    end
  end
  call('HSET', totals_key, 'last', last, 'tail:' .. run, tail, 'head_bytes:' .. run, head_bytes, 'tail_bytes:' .. run,
       tail_bytes, 'left_out:' .. run, left_out)
  return head_bytes + tail_bytes - before
end

-- args: now, log cap, number of notes, then of each: task, lease, percent or '', message, event data, checkpoint op, checkpoint,
-- number of pieces, (stream, text)… Answers 1 for each whose lease is live.
function functions.note(keys, args)
  begin(keys, args)
  read_from(args, 3)
  local answers = {}
  for i = 1, take_number() do
    local id, lease = take(), take()
    local percent, message, data = take(), take(), take()
    local checkpoint_op, checkpoint = take(), take()
    local pieces = {}
    for i = 1, take_number() do pieces[i] = {stream = take(), text = take()} end
    local key = P .. 't:' .. id
    local found = redis.pcall('HMGET', key, 'state', 'lease', 'lane', 'run', 'generation', 'bytes')
    local live = not found.err and found[1] == 'running' and found[2] == lease
    answers[i] = live and 1 or 0
    if live then
      local growth = 0
      if percent ~= '' then
        call('HSET', key, 'percent', percent, 'message', message)
        add_event('task.progressed', id, found[3], 'running', found[4], found[5] or '1', data)
      end
      if checkpoint_op == '=' then
        growth = #checkpoint - call('STRLEN', P .. 'c:' .. id)
        call('SET', P .. 'c:' .. id, checkpoint)
        call('HSET', key, 'checkpoint', 1)
      end
      if #pieces > 0 then growth = growth + append_log(id, found[4], tonumber(args[2]), pieces) end
      if growth ~= 0 then
        call('HINCRBY', key, 'bytes', growth)
        count_bytes('running', growth)
      end
    end
  end
  call('HINCRBY', P .. 'seq', 'note', 1)
  finish()
  return answers
end
