-- Renewals, and what running tasks say of themselves. Both leave the revision alone.

-- args: now, worker, lease, then task and lease id of each. Answers 0 held, 1 cancel requested, 2 lost; and 3 behind these if
-- the worker was told to drain.
function functions.renew(keys, args)
  begin(keys, args)
  local lease_now = whole(lease_clock.latest())
  local worker = KEY.worker .. args[2]
  local draining = call('HGET', worker, 'draining')
  if draining then
    call('HSET', worker, 'last_beat_at', whole(NOW))
    call('ZADD', KEY.workers, lease_now, args[2])
  end
  local until_ = whole(lease_clock.latest() + tonumber(args[3]))
  local ids, leases, answers = {}, {}, {}
  for i = 4, #args, 2 do ids[#ids + 1] = args[i] end
  fetch_records(ids)
  for i, id in ipairs(ids) do
    local record = record_of(id)
    if not record or record.state ~= 'running' or record.lease ~= args[2 * i + 3] then
      answers[i] = 2
    else
      record.renewed, record.beats = lease_now, whole(record.beats + 1)
      put_kept(id, record)
      leases[#leases + 1] = until_
      leases[#leases + 1] = id
      answers[i] = record.cancel ~= '~' and 1 or 0
    end
  end
  call_in_pieces('ZADD', KEY.leases, leases)
  save_strings()
  lease_clock.save()
  if draining == '1' then answers[#answers + 1] = 3 end
  return answers
end

-- How many bytes of output a piece stands for: its own, or those that a remark counts; as core/log_remark.cc.
local function output_bytes(stream, text)
  local counted = stream == '2' and string.match(text, '^%[(%d+) bytes of output left out here%]\n$')
  return tonumber(counted) or #text
end

-- The output of a run: at least the first and the last half of the cap are kept, as pieces in a stream.
-- pieces: so many in a list from a place on, stream and text of each
local function append_log(id, run, cap, list, from, pieces_n)
  local stream = KEY.log .. id
  local totals_key = KEY.log_totals .. id
  local totals = {}
  for i, name in ipairs({'last', 'tail:' .. run, 'head_bytes:' .. run, 'tail_bytes:' .. run, 'left_out:' .. run}) do
    totals[i] = tonumber(call('HGET', totals_key, name)) or 0
  end
  local last, tail, head_bytes, tail_bytes, left_out = unpack(totals)
  local half = math.max(1, math.floor(cap / 2))
  local before = head_bytes + tail_bytes
  for i = from, from + 2 * pieces_n - 1, 2 do
    local text = list[i + 1]
    last = last + 1
    call('XADD', stream, last .. '-0', 'run', run, 'at', NOW_TEXT, 'stream', list[i], 'text', text)
    if tail == 0 and head_bytes < half then
      head_bytes = head_bytes + #text
    else
      if tail == 0 then tail = last end
      tail_bytes = tail_bytes + #text
      while tail_bytes > half and tail < last do
        local oldest = call('XRANGE', stream, tail .. '-0', tail .. '-0')[1]
        if oldest then
          local size = #oldest[2][8]
          if tail_bytes - size < half then break end
          tail_bytes = tail_bytes - size
          left_out = left_out + output_bytes(oldest[2][6], oldest[2][8])
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

-- Of a note, in the packed list; then its pieces: stream, text, …
local NOTE_ID, NOTE_LEASE, NOTE_PROGRESS, NOTE_EVENT, NOTE_CHECKPOINT, PIECES_N, NOTE_SIZE = 0, 1, 2, 3, 4, 5, 6

local function write_note(list, note, record, cap)
  local id, bytes = list[note + NOTE_ID], tonumber(record.bytes)
  local progress, checkpoint = list[note + NOTE_PROGRESS], list[note + NOTE_CHECKPOINT]
  if progress then
    put(KEY.progress .. id, progress)
    record.marks = with_mark(record.marks, 'p')
    events[#events + 1] = 'task.progressed|' .. id .. '|' .. record.lane .. '|running|' .. record.run .. '|' ..
                          record.generation .. '|' .. list[note + NOTE_EVENT]
  end
  if checkpoint then
    local before = has_mark(record.marks, 'c') and get(KEY.checkpoint .. id) or ''
    bytes = bytes + #checkpoint - #before
    put(KEY.checkpoint .. id, checkpoint)
    record.marks = with_mark(record.marks, 'c')
  end
  if list[note + PIECES_N] > 0 then bytes = bytes + append_log(id, record.run, cap, list, note + NOTE_SIZE, list[note + PIECES_N]) end
  move(record.lane, 'running', 0, bytes - record.bytes)
  record.bytes = whole(bytes)
  put_kept(id, record)
end

-- args: now, log cap, notes, packed. Answers 1 for each whose lease is live.
function functions.note(keys, args)
  begin(keys, args)
  local list, note, answers = cmsgpack.unpack(args[3]), 1, {}
  while list[note] do
    local record = record_of(list[note + NOTE_ID])
    local live = record and record.state == 'running' and record.lease == list[note + NOTE_LEASE]
    answers[#answers + 1] = live and 1 or 0
    if live then write_note(list, note, record, tonumber(args[2])) end
    note = note + NOTE_SIZE + 2 * list[note + PIECES_N]
  end
  call('HINCRBY', KEY.seq, 'note', 1)
  finish()
  return answers
end
