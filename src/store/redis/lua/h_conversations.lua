-- Conversation queues. Of each a hash: 'revision', 'head', and the head of each item under its number; a hash of bodies by number;
-- and its name, OWNER!KEY, in the set of all, so that names come by owner and key.

local function name_of(owner, key)
  return owner .. '!' .. key
end

-- args: now, owner, key. Answers {revision, head, number, item, number, item…}, or nothing.
function functions.conversation(keys, args)
  begin(keys, args)
  local flat = call('HGETALL', KEY.conversation .. name_of(args[2], args[3]))
  if #flat == 0 then return {} end
  local found = {'0', '{}'}
  for i = 1, #flat, 2 do
    if flat[i] == 'revision' then
      found[1] = flat[i + 1]
    elseif flat[i] == 'head' then
      found[2] = flat[i + 1]
    else
      found[#found + 1] = flat[i]
      found[#found + 1] = flat[i + 1]
    end
  end
  return found
end

-- args: now, owner, key, numbers…. Answers the body of each, or nothing.
function functions.conversation_bodies(keys, args)
  begin(keys, args)
  local key, found = KEY.conversation_bodies .. name_of(args[2], args[3]), {}
  for i = 4, #args do found[i - 3] = call('HGET', key, args[i]) end
  return found
end

-- args: now, 1 for those of one owner, owner and key after which they come, limit. Answers {owner, key, revision, head, …}.
function functions.conversations(keys, args)
  begin(keys, args)
  local after = args[3] == '' and '-' or '(' .. name_of(args[3], args[4])
  local till = args[2] == '1' and '(' .. args[3] .. '"' or '+'  -- the character after !
  local found = {}
  for _, name in ipairs(call('ZRANGEBYLEX', KEY.conversations, after, till, 'LIMIT', 0, args[5])) do
    local owner, key = string.match(name, '^([^!]*)!(.*)$')
    local stored = call('HMGET', KEY.conversation .. name, 'revision', 'head')
    if owner and stored[1] then
      found[#found + 1] = owner
      found[#found + 1] = key
      found[#found + 1] = stored[1]
      found[#found + 1] = stored[2] or '{}'
    end
  end
  return found
end

-- args: now, owner, key, revision it is based on, most that an owner may have, head (empty: the conversation goes), then as packed
-- lists: numbers of items that go; number and head of items that are written; number and body of bodies; numbers of bodies that
-- go; events. Answers done, conflict or full.
function functions.put_conversation(keys, args)
  begin(keys, args)
  local owner, name = args[2], name_of(args[2], args[3])
  local key, bodies_key = KEY.conversation .. name, KEY.conversation_bodies .. name
  local revision = tonumber(call('HGET', key, 'revision')) or 0
  if revision ~= tonumber(args[4]) then return 'conflict' end
  if revision == 0 and call('ZLEXCOUNT', KEY.conversations, '[' .. owner .. '!', '(' .. owner .. '"') >= tonumber(args[5]) then
    return 'full'
  end
  if args[6] == '' then
    call('DEL', key, bodies_key)
    call('ZREM', KEY.conversations, name)
  else
    local gone, gone_bodies = cmsgpack.unpack(args[7]), cmsgpack.unpack(args[10])
    call('HSET', key, 'revision', whole(revision + 1), 'head', args[6])
    call('ZADD', KEY.conversations, 0, name)
    call_in_pieces('HDEL', key, gone)
    call_in_pieces('HDEL', bodies_key, gone)
    call_in_pieces('HDEL', bodies_key, gone_bodies)
    call_in_pieces('HSET', key, cmsgpack.unpack(args[8]))
    call_in_pieces('HSET', bodies_key, cmsgpack.unpack(args[9]))
  end
  for i, text in ipairs(cmsgpack.unpack(args[11])) do events[i] = text end
  lease_clock.now()
  finish()
  return 'done'
end
