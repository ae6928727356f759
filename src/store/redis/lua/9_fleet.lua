-- Workers, the policy document, pools.

-- args: now, id, JSON of what it is, draining
function functions.register_worker(keys, args)
  begin(keys, args)
  local key = P .. 'worker:' .. args[2]
  call('HSETNX', key, 'registered_at', whole(NOW))
  call('HSET', key, 'last_beat_at', whole(NOW), 'info', args[3], 'draining', args[4])
  call('ZADD', P .. 'workers', whole(NOW), args[2])
  return 1
end

-- args: now, id
function functions.unregister_worker(keys, args)
  begin(keys, args)
  call('ZREM', P .. 'workers', args[2])
  return call('DEL', P .. 'worker:' .. args[2])
end

function functions.workers(keys, args)
  begin(keys, args)
  local found = {}
  for _, id in ipairs(call('ZRANGE', P .. 'workers', 0, -1)) do
    found[#found + 1] = {id, call('HGETALL', P .. 'worker:' .. id)}
  end
  return found
end

-- args: now, silent for. Those that hold a lease stay.
function functions.forget_workers(keys, args)
  begin(keys, args)
  local silent = call('ZRANGEBYSCORE', P .. 'workers', '-inf', whole(NOW - tonumber(args[2])))
  if #silent == 0 then return {} end
  local holds = {}
  local leased = call('ZRANGE', P .. 'leases', 0, -1)
  fetch_records(leased)
  for _, id in ipairs(leased) do
    local record = record_of(id)
    if record then holds[record.worker] = true end
  end
  local gone = {}
  for _, id in ipairs(silent) do
    if not holds[id] then
      call('ZREM', P .. 'workers', id)
      call('DEL', P .. 'worker:' .. id)
      gone[#gone + 1] = id
    end
  end
  return gone
end

function functions.config(keys, args)
  begin(keys, args)
  local version = call('HGET', P .. 'config', 'version')
  if not version then return {'0', '{}'} end
  return {version, call('HGET', P .. 'config', 'document:' .. version)}
end

-- args: now, version it is based on, document, {owner, weight, …}, {number of gates, gates…}. Answers 1, or 0 if something moved.
function functions.put_config(keys, args)
  begin(keys, args)
  lanes.start()
  local weights = cmsgpack.unpack(args[4])
  local changes, n = steps.unpack_gates(args[5])
  local version = tonumber(call('HGET', P .. 'config', 'version')) or 0
  if version ~= tonumber(args[2]) then return 0 end
  if not steps.are_gates_unmoved(changes, n) then return 0 end
  call('HSET', P .. 'config', 'version', version + 1, 'document:' .. (version + 1), args[3],
       'applied_at:' .. (version + 1), whole(NOW))
  gates.put_weights(weights)
  steps.start_writes()
  steps.write_gates(changes, n)
  lanes.tell_pools()
  finish()
  return 1
end

-- args: now, pool, lines…
function functions.make_pool(keys, args)
  begin(keys, args)
  local lines = {}
  for i = 3, #args do lines[i - 2] = args[i] end
  lanes.make_pool(args[2], lines)
  return 1
end
