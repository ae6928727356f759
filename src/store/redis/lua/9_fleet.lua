-- Workers, the policy document, the engine's documents, pools.

-- args: now, id, JSON of what it is, draining, token id. The token of the first registration stays.
function functions.register_worker(keys, args)
  begin(keys, args)
  local key = KEY.worker .. args[2]
  call('HSETNX', key, 'registered_at', whole(NOW))
  call('HSETNX', key, 'token_id', args[5])
  call('HSET', key, 'last_beat_at', whole(NOW), 'info', args[3])
  if args[4] == '1' then call('HSET', key, 'draining', '1') else call('HSETNX', key, 'draining', '0') end
  call('ZADD', KEY.workers, whole(lease_clock.latest()), args[2])
  lease_clock.save()
  return 1
end

-- args: now, id, event
function functions.unregister_worker(keys, args)
  begin(keys, args)
  call('ZREM', KEY.workers, args[2])
  if call('DEL', KEY.worker .. args[2]) == 0 then return 0 end
  events[1] = args[3]
  finish()
  return 1
end

-- args: now, id, who, why, event. Answers 0 if there is no such worker.
function functions.drain_worker(keys, args)
  begin(keys, args)
  local key = KEY.worker .. args[2]
  if call('EXISTS', key) == 0 then return 0 end
  call('HSET', key, 'draining', '1', 'drain_by', args[3], 'drain_reason', args[4])
  events[1] = args[5]
  finish()
  return 1
end

-- How many tasks each worker runs.
local function count_running()
  local running = {}
  local leased = call('ZRANGE', KEY.leases, 0, -1)
  fetch_records(leased)
  for _, id in ipairs(leased) do
    local record = record_of(id)
    if record then running[record.worker] = (running[record.worker] or 0) + 1 end
  end
  return running
end

-- Answers {id, running, fields}…; among the fields for how long it has been silent.
function functions.workers(keys, args)
  begin(keys, args)
  local found, running = {}, count_running()
  local beats = call('ZRANGE', KEY.workers, 0, -1, 'WITHSCORES')
  for i = 1, #beats, 2 do
    local id, fields = beats[i], call('HGETALL', KEY.worker .. beats[i])
    fields[#fields + 1], fields[#fields + 2] = 'silent_ms', whole(math.max(0, lease_clock.now() - tonumber(beats[i + 1])))
    found[#found + 1] = {id, running[id] or 0, fields}
  end
  return found
end

-- args: now, id. Answers as workers does, without counting; nothing if there is none.
function functions.worker(keys, args)
  begin(keys, args)
  local fields = call('HGETALL', KEY.worker .. args[2])
  if #fields == 0 then return {} end
  return {{args[2], 0, fields}}
end

-- args: now, silent for, what stands before and behind the id in an event. Those that hold a lease stay.
function functions.forget_workers(keys, args)
  begin(keys, args)
  local silent = call('ZRANGEBYSCORE', KEY.workers, '-inf', whole(lease_clock.now() - tonumber(args[2])))
  if #silent == 0 then return {} end
  local holds = count_running()
  local gone = {}
  for _, id in ipairs(silent) do
    if not holds[id] then
      call('ZREM', KEY.workers, id)
      call('DEL', KEY.worker .. id)
      gone[#gone + 1] = id
      events[#events + 1] = args[3] .. id .. args[4]
    end
  end
  if #gone > 0 then finish() end
  return gone
end

-- args: now, name. Answers {version, document, 1 if sweepers have work with it}.
function functions.document(keys, args)
  begin(keys, args)
  local found = call('HMGET', KEY[args[2]], 'version', 'document', 'due')
  return {found[1] or '0', found[2] or '{}', found[3] or '0'}
end

-- args: now, name, version it is based on, document, events…. Answers 1, or 0 if the version moved.
function functions.put_document(keys, args)
  begin(keys, args)
  local key = KEY[args[2]]
  local version = tonumber(call('HGET', key, 'version')) or 0
  if version ~= tonumber(args[3]) then return 0 end
  call('HSET', key, 'version', whole(version + 1), 'document', args[4])
  call('HSET', KEY.seq, args[2], whole(version + 1))
  for i = 5, #args do events[i - 4] = args[i] end
  lease_clock.now()
  finish()
  return 1
end

-- Also of a policy that is gone (policy_missing): the next one gets the next number.
local function config_version()
  return call('HGET', KEY.config, 'version') or call('HGET', KEY.seq, 'config') or '0'
end

function functions.config(keys, args)
  begin(keys, args)
  local version = config_version()
  return {version, call('HGET', KEY.config, 'document:' .. version) or '{}'}
end

-- args: now, limit. Answers {version, applied_at, version, applied_at…}, newest first.
function functions.config_versions(keys, args)
  begin(keys, args)
  local newest = tonumber(config_version())
  local found = {}
  for version = newest, math.max(1, newest - tonumber(args[2]) + 1), -1 do
    local applied_at = call('HGET', KEY.config, 'applied_at:' .. whole(version))
    if applied_at then
      found[#found + 1] = whole(version)
      found[#found + 1] = applied_at
    end
  end
  return found
end

-- args: now, version. Answers its document, or nothing.
function functions.config_at(keys, args)
  begin(keys, args)
  return call('HGET', KEY.config, 'document:' .. args[2])
end

-- args: now, version it is based on, document, {owner, weight, …}, {number of gates, gates…}. Answers 1, or 0 if something moved.
function functions.put_config(keys, args)
  begin(keys, args)
  lanes.start()
  local weights = cmsgpack.unpack(args[4])
  local changes, n = steps.unpack_gates(args[5])
  local version = tonumber(config_version())
  if version ~= tonumber(args[2]) then return 0 end
  if not steps.are_gates_unmoved(changes, n) then return 0 end
  call('HSET', KEY.config, 'version', version + 1, 'document:' .. (version + 1), args[3],
       'applied_at:' .. (version + 1), whole(NOW))
  call('HSET', KEY.seq, 'config', version + 1)
  gates.put_weights(weights)
  steps.start_writes()
  steps.write_gates(changes, n)
  lanes.tell_pools()
  finish()
  return 1
end

-- args: now, then version, time and document of each, oldest first. They take the place of all there are.
function functions.restore_config(keys, args)
  begin(keys, args)
  call('DEL', KEY.config)
  for i = 2, #args, 3 do
    call('HSET', KEY.config, 'version', args[i], 'applied_at:' .. args[i], args[i + 1], 'document:' .. args[i], args[i + 2])
    call('HSET', KEY.seq, 'config', args[i])
  end
  finish()
  return 1
end

-- args: now, pool, lines…
function functions.make_pool(keys, args)
  begin(keys, args)
  local lines = {}
  for i = 3, #args do lines[i - 2] = args[i] end
  lanes.start()
  lanes.make_pool(args[2], lines)
  finish()
  return 1
end
