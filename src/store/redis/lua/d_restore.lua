-- Tasks and events as a dump has them. Only the strings of a task, its output and the lists by number are written: all else
-- follows from them and is made by a repair.

-- of a task in the packed list, see restore_arguments.cc; then its output: number, run, at, stream, text of each piece; then
-- fields and values of its totals
local ID, PLACE, BYTES, MARKS, SAID, RUN, INNER_RESULT, BODY, RESULT, CHECKPOINT, PROGRESS, HISTORY, FINISHED, PIECES_N,
      TOTALS_N, TASK_SIZE = 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15

local function restore_task(list, at)
  local id = list[at + ID]
  local seq = whole(number_before('task', 1) + 1)
  put(KEY.task .. id, records.text('1', seq, list[at + PLACE], list[at + BYTES], '0 0', list[at + MARKS], list[at + SAID],
                                   list[at + RUN], list[at + INNER_RESULT]))
  put(KEY.body .. id, list[at + BODY])
  for kind, text in pairs({result = list[at + RESULT], checkpoint = list[at + CHECKPOINT], progress = list[at + PROGRESS],
                           history = list[at + HISTORY]}) do
    if text then put(KEY[kind] .. id, text) end
  end
  if list[at + FINISHED] then call('ZADD', KEY.finished, list[at + FINISHED], id) end
  listed[#listed + 1] = id
  local piece = at + TASK_SIZE
  for _ = 1, list[at + PIECES_N] do
    call('XADD', KEY.log .. id, list[piece] .. '-0', 'run', list[piece + 1], 'at', list[piece + 2], 'stream', list[piece + 3],
         'text', list[piece + 4])
    piece = piece + 5
  end
  for _ = 1, list[at + TOTALS_N] do
    call('HSET', KEY.log_totals .. id, list[piece], list[piece + 1])
    piece = piece + 2
  end
  return piece
end

-- args: now, packed tasks, packed events: number, at and text of each; entries of the ledger, or nothing; packed field and amount of what was spent
function functions.restore(keys, args)
  begin(keys, args)
  local list = cmsgpack.unpack(args[2])
  local at = 1
  while list[at] do at = restore_task(list, at) end
  finish()
  local made = cmsgpack.unpack(args[3])
  if made[1] and call('EXISTS', KEY.events) == 0 then call('HSET', KEY.seq, 'first_event', made[1]) end
  for i = 1, #made, 3 do
    call('XADD', KEY.events, made[i] .. '-0', 'at', made[i + 1], 'e', made[i + 2])
    call('HSET', KEY.seq, 'event', made[i])
  end
  if args[4] ~= '' then ledger.book(args[4]) end
  local spent = cmsgpack.unpack(args[5])
  for i = 1, #spent, 2 do call('HSET', KEY.spent, spent[i], spent[i + 1]) end
  if spent[1] then kept.forget_hash(KEY.spent) end
  return #made / 3
end
