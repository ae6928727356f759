-- Epochs: docs/internals/store-epochs.md. The list holds 'number id after cause server', oldest first.

local KEPT = 1000

-- args: now, run id of this server ('' if that is not the question), id of a new epoch, then what the caller has seen: the
-- number and id of an epoch and its last event; then the data of the event if a loss is to be accepted, else ''.
-- Begins an epoch if there is none, if this server is another run than the last one names, if the caller has seen more, or to
-- accept. It is later than any that the caller has seen, so that what is lost stays as it is found now, whatever comes.
-- Answers the number of the last event, then the epochs.
function functions.epochs(keys, args)
  begin(keys, args)
  local server, id, seen_number, seen_epoch, seen_seq, data = args[2], args[3], tonumber(args[4]), args[5], tonumber(args[6]), args[7]
  local accepts = data ~= ''
  local seq = call('HGET', P .. 'seq', 'event') or '0'
  local last = call('LINDEX', P .. 'epochs', -1)
  local number, current, last_after, last_server
  if last then number, current, last_after, last_server = string.match(last, '^(%d+) (%x+) (%d+) %a+ (%S+)$') end
  if server == '' then server = last_server or 'unknown' end
  local cause = accepts and 'accepted' or not number and 'created' or last_server ~= server and 'restarted' or
                (tonumber(number) < seen_number or current == seen_epoch and tonumber(seq) < seen_seq) and 'regressed' or nil
  if cause then
    -- Without a list nothing of what anybody has seen is left, whatever was written since. And an epoch that is earlier
    -- than the one that was seen, but is not known to have been before it, began after the loss.
    local after = not number and '0' or cause == 'regressed' and current ~= seen_epoch and last_after or seq
    number = math.max(tonumber(number) or 0, seen_number) + 1
    current = id
    call('RPUSH', P .. 'epochs', whole(number) .. ' ' .. id .. ' ' .. after .. ' ' .. cause .. ' ' .. server)
    call('LTRIM', P .. 'epochs', -KEPT, -1)
  end
  if call('HGET', P .. 'seq', 'epoch') ~= current then call('HSET', P .. 'seq', 'epoch', current) end
  if accepts then
    events[#events + 1] = 'store.regression_accepted|||||||||||' .. data
    finish()
    seq = call('HGET', P .. 'seq', 'event')
  end
  return {seq, unpack(call('LRANGE', P .. 'epochs', 0, -1))}
end
