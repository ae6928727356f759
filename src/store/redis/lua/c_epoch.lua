-- Epochs: docs/internals/store-epochs.md. The list holds 'number id after cause server', oldest first.

local KEPT = 1000  -- beside the first one, which names the store
local CHECK_EVERY = 10  -- milliseconds: shorter than any failover, and long enough to cost nothing
local checked = {}  -- prefix -> when it was last seen that its epoch names this server

-- This run of this server, and its replication history, which is another one after each promotion. A primary that was a
-- replica for a while may lack what it had acknowledged before.
local function this_server()
  local info = call('INFO', 'server', 'replication')
  return (string.match(info, '\nrun_id:(%x+)') or 'hidden') .. ':' .. (string.match(info, '\nmaster_replid:(%x+)') or 'hidden')
end

-- The last one; nil if there is none, or none that can be read.
local function last_epoch()
  local number, id, after, server = string.match(call('LINDEX', KEY.epochs, -1) or '', '^(%d+) (%x+) (%d+) %a+ (%S+)$')
  return number and {number = tonumber(number), id = id, after = after, server = server}
end

local function begin_epoch(number, after, cause, server)
  local time = call('TIME')
  local id = string.sub(redis.sha1hex(server .. ' ' .. time[1] .. ' ' .. time[2] .. ' ' .. tostring({}) .. ' ' .. whole(number)), 1, 16)
  call('RPUSH', KEY.epochs, whole(number) .. ' ' .. id .. ' ' .. after .. ' ' .. cause .. ' ' .. server)
  if call('LLEN', KEY.epochs) > KEPT + 1 then
    local first = call('LPOP', KEY.epochs)
    call('LTRIM', KEY.epochs, -KEPT, -1)
    call('LPUSH', KEY.epochs, first)
  end
  call('HSET', KEY.seq, 'epoch', id)
end

-- Before events are numbered, whoever writes them and however long it has been connected: on a server that the epoch does not
-- name, the next numbers belong to another one. A replica that takes over its primary's data loads this library anew and has
-- checked nothing, so nothing can go back between two looks.
function epoch.check()
  local before = checked[P]
  if before and NOW >= before and NOW - before < CHECK_EVERY then return end
  checked[P] = NOW
  local last, server = last_epoch(), this_server()
  if not last or last.server == server then return end  -- without a list the caller begins one
  begin_epoch(last.number + 1, call('HGET', KEY.seq, 'event') or '0', 'restarted', server)
end

-- args: now, then what the caller has seen: the number and id of an epoch and its last event; then the data of the event if a
-- loss is to be accepted, else ''.
-- Begins an epoch if there is none, if this is not the server that the last one names, if the caller has seen more, or to
-- accept. It is later than any that the caller has seen, so that what is lost stays as it is found now, whatever comes.
-- Answers the number of the last event, then the epochs.
function functions.epochs(keys, args)
  begin(keys, args)
  local seen_number, seen_epoch, seen_seq, data = tonumber(args[2]), args[3], tonumber(args[4]), args[5]
  local accepts = data ~= ''
  local seq = call('HGET', KEY.seq, 'event') or '0'
  local last, server = last_epoch(), this_server()
  local cause = accepts and 'accepted' or not last and 'created' or last.server ~= server and 'restarted' or
                (last.number < seen_number or last.id == seen_epoch and tonumber(seq) < seen_seq) and 'regressed' or nil
  if cause then
    -- Without a list nothing of what anybody has seen is left, whatever was written since. And an epoch that is earlier
    -- than the one that was seen, but is not known to have been before it, began after the loss.
    local after = not last and '0' or cause == 'regressed' and last.id ~= seen_epoch and last.after or seq
    begin_epoch(math.max(last and last.number or 0, seen_number) + 1, after, cause, server)
  elseif call('HGET', KEY.seq, 'epoch') ~= last.id then
    call('HSET', KEY.seq, 'epoch', last.id)
  end
  if call('HGET', KEY.seq, 'library') ~= VERSION then
    read_numbers()  -- refused if it is a newer one
    call('HSET', KEY.seq, 'library', VERSION)
  end
  if accepts then
    events[#events + 1] = 'store.regression_accepted|||||||||||' .. data
    finish()
    seq = call('HGET', KEY.seq, 'event')
  end
  return {seq, unpack(call('LRANGE', KEY.epochs, 0, -1))}
end

-- args: now, id and number of the last of them, then the epochs: they take the place of the list, unless its last one is
-- another; then an epoch begins. Answers 1 if they did.
function functions.restore_epochs(keys, args)
  begin(keys, args)
  local last = last_epoch()
  if not last or last.id ~= args[2] then return 0 end
  call('DEL', KEY.epochs)
  for i = 4, #args do call('RPUSH', KEY.epochs, args[i]) end
  begin_epoch(tonumber(args[3]) + 1, call('HGET', KEY.seq, 'event') or '0', 'restored', this_server())
  return 1
end
