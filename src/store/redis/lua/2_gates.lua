-- Gates: what is enforced, what is used. core/gate.cc says the same in C++.

-- "closed_until permits counted_from interval_us burst"; '-' for none, 'x' for closed until opened. Then what budgets.parse reads.
local function parse_limits(text)
  local closed, permits, from, interval, burst, more = string.match(text, '^(%S+) (%S+) (%S+) (%S+) (%S+)(.*)$')
  local limits = {closed_until = closed ~= '-' and (closed == 'x' and math.huge or tonumber(closed)) or nil,
          permits = permits ~= '-' and tonumber(permits) or nil, counted_from = tonumber(from),
          interval = tonumber(interval), burst = tonumber(burst)}
  if more ~= '' then budgets.parse(more, limits) end
  return limits
end

-- An owner without a gate of its own obeys owner:*, another gate what holds for its kind.
local function limits_from(name, text, owners)
  if text then return parse_limits(text) end
  local kind = string.match(name, '^%a+')
  if kind == 'owner' then return owners and parse_limits(owners) end
  local default = DEFAULT_LIMITS[kind]
  return default and parse_limits(default)
end

local function is_any_stored()
  local stored = kept.remembered('limits').any
  if stored == nil then stored = kept.remember('limits', 'any', call('EXISTS', KEY.gates) == 1) end
  return stored
end

local function read_limits(parts)
  local names, all = parts.gates, {weight = 1, any = false}
  local found, owners, first = {}, nil, 5  -- of a store without gates only locks limit anything
  if is_any_stored() then
    local owners_weight = 'weight:' .. parts.owner
    found, first = kept.fields(KEY.gates, {'owner:*', 'weight:*', owners_weight, unpack(names)}), 1
    owners = found['owner:*']
    all.weight = tonumber(found[owners_weight] or found['weight:*'] or 1)
  end
  for i = first, #names do
    all[i] = limits_from(names[i], found[names[i]], owners) or nil
    all.any = all.any or all[i] ~= nil
    all.has_budgets = all.has_budgets or (all[i] and all[i].budgets ~= nil)
  end
  return all
end

-- The limits of each gate of a lane, nil for those without, and whether there are `any`; and the weight of its owner.
function gates.limits(parts)
  local all = kept.remembered('limits')[parts.key] or kept.remember('limits', parts.key, read_limits(parts))
  return all, all.weight
end

-- The limits or the weights were written.
local function forget_limits()
  kept.forget_hash(KEY.gates)
  kept.forget_remembered('limits')
end

function gates.limits_of(name)
  local found = kept.fields(KEY.gates, {'owner:*', name})
  return limits_from(name, found[name], found['owner:*'])
end

-- Pairs of owner ('*' for all others) and weight: these and no others.
function gates.put_weights(weights)
  for _, field in ipairs(call('HKEYS', KEY.gates)) do
    if string.sub(field, 1, 7) == 'weight:' then call('HDEL', KEY.gates, field) end
  end
  for i = 1, #weights, 2 do call('HSET', KEY.gates, 'weight:' .. weights[i], whole(weights[i + 1])) end
  forget_limits()
end

-- The use of a gate: only what its limits need is read.
function gates.use(name, limits)
  local use = {in_use = 0, rate_at = 0}
  if limits.permits then use.in_use = kept.number(KEY.in_use, name) or 0 end
  if limits.interval > 0 then use.rate_at = kept.number(KEY.rate_at, name) or 0 end
  if limits.budgets then use.left = budgets.left(name, limits) end
  return use
end

local function spent_until(limits, rate_at)
  local now_us = NOW * 1000
  return math.min(math.max(rate_at, now_us), now_us + limits.interval * limits.burst)
end

gates.NONE = {counted_from = 0, interval = 0, burst = 0}

-- How many tasks of that cost may start now; if none, when to ask again (nil: when something happens to the gate), and
-- whether a smaller cost would be refused as well.
function gates.ask(limits, use, cost, per_run)
  if limits.closed_until and NOW < limits.closed_until then
    if limits.closed_until == math.huge then return 0, nil, true end
    return 0, limits.closed_until, true
  end
  local room = 1000000
  if limits.permits then
    room = math.min(room, limits.permits - use.in_use)
    if room <= 0 then return 0, nil, true end
  end
  if limits.interval > 0 then
    local spent = spent_until(limits, use.rate_at)
    local span = limits.interval * limits.burst
    local units = math.floor((NOW * 1000 + span - spent) / limits.interval)
    if units < cost then return 0, math.ceil((spent + cost * limits.interval - span) / 1000), false end
    room = math.min(room, math.floor(units / cost))
  end
  if limits.budgets then
    local here, look_again = budgets.ask(limits, use.left, per_run)
    if here == 0 then return 0, look_again, false end
    room = math.min(room, here)
  end
  return room, nil
end

function gates.spend_in(limits, use, cost, started, per_run)
  if limits.permits then use.in_use = use.in_use + started end
  if limits.interval > 0 then
    use.rate_at = spent_until(limits, use.rate_at) + cost * started * limits.interval
  end
  if limits.budgets then budgets.take(limits, use.left, per_run, started) end
end

function gates.spend(name, limits, use, cost, started, per_run)
  gates.spend_in(limits, use, cost, started, per_run)
  if limits.budgets then budgets.set_aside(name, limits, per_run, started) end
  if limits.permits then kept.set(KEY.in_use, name, use.in_use) end
  if limits.interval > 0 then kept.set(KEY.rate_at, name, use.rate_at) end
end

function gates.has_waiting(name)
  return call('EXISTS', KEY.waits .. name) == 1
end

-- Looked at by the next claim, whatever it is for.
function gates.look_now(name)
  if not gates.has_waiting(name) then return end
  call('ZADD', KEY.wake, NOW, name)
  due_at(NOW)
end

-- Whether the end of a run gives something back: permits, or what was set aside.
function gates.has_permits(parts)
  local all = gates.limits(parts)
  if not all.any then return false end
  if all.has_budgets then return true end
  for i = 1, #parts.gates do
    if all[i] and all[i].permits then return true end
  end
  return false
end

-- Runs of a lane ended that had started at these times. spends: of each what it spent, as budgets.parse_spend reads it.
function gates.release(parts, starts, spends)
  local all = gates.limits(parts)
  if all.has_budgets then
    local ended = {}
    for i = 1, #starts do ended[i] = spends and spends[i] or false end
    budgets.book_all(parts, all, ended)
    for i, name in ipairs(parts.gates) do
      if all[i] and all[i].budgets then gates.look_now(name) end
    end
  end
  for i, name in ipairs(parts.gates) do
    local limits = all[i]
    if limits and limits.permits then
      local ended = 0
      for _, started in ipairs(starts) do
        if started >= limits.counted_from then ended = ended + 1 end
      end
      if ended > 0 then
        local in_use = (kept.number(KEY.in_use, name) or 0) - ended
        kept.set(KEY.in_use, name, in_use > 0 and in_use)
        gates.look_now(name)
      end
    end
  end
end

-- in_use of the gates for which `wanted` answers with limits, from the running tasks.
local function recount(wanted)
  local in_use = {}
  local ids = call('ZRANGE', KEY.leases, 0, -1)
  fetch_records(ids)
  for _, id in ipairs(ids) do
    local record = record_of(id)
    if record then
      for _, name in ipairs(parts_of(record.lane).gates) do
        local limits = wanted(name)
        if limits and limits.permits and tonumber(record.started) >= limits.counted_from then
          in_use[name] = (in_use[name] or 0) + 1
        end
      end
    end
  end
  for name, used in pairs(in_use) do kept.set(KEY.in_use, name, used) end
end

local function forget_use(name, limits)
  if not limits or not limits.permits then kept.set(KEY.in_use, name, false) end
  if not limits or limits.interval == 0 then kept.set(KEY.rate_at, name, false) end
end

local function counts_anew(before, after)
  if not after or not after.permits then return false end
  return not before or not before.permits or before.counted_from ~= after.counted_from
end

local function set_default_of_owners(before, after)
  local has_own = {}
  for _, name in ipairs(call('HKEYS', KEY.gates)) do has_own[name] = true end
  local function obeys(name) return string.sub(name, 1, 6) == 'owner:' and not has_own[name] end
  if not after or not after.permits then
    kept.save()
    for _, name in ipairs(call('HKEYS', KEY.in_use)) do
      if obeys(name) then kept.set(KEY.in_use, name, false) end
    end
  elseif counts_anew(before, after) then
    recount(function(name) return obeys(name) and after or nil end)
  end
  for _, name in ipairs(call('ZRANGE', KEY.waited, 0, -1)) do
    if obeys(name) then gates.look_now(name) end
  end
end

-- text: the new limits, or '' for none.
function gates.set_limits(name, text)
  local before = gates.limits_of(name)
  if text == '' then call('HDEL', KEY.gates, name) else call('HSET', KEY.gates, name, text) end
  forget_limits()
  if name == 'owner:*' then
    local after = text ~= '' and parse_limits(text) or nil
    budgets.compare(before, after)
    budgets.forget_periods(name, after)
    return set_default_of_owners(before, after)
  end
  local after = gates.limits_of(name)
  budgets.compare(before, after)
  budgets.forget_periods(name, after)
  forget_use(name, after)
  if counts_anew(before, after) then
    kept.set(KEY.in_use, name, false)
    recount(function(other) return other == name and after or nil end)
  end
  gates.look_now(name)
end

function gates.revision(name)
  local revision = kept.remembered('revisions')[name]
  if revision then return revision end
  local record = call('HGET', KEY.gate_records, name)
  return kept.remember('revisions', name, record and tonumber(string.match(record, '^(%d+) ')) or 0)
end

-- record: JSON of the gate, '' if it is at rest and is not kept.
function gates.put(name, record, limits)
  if record == '' then
    call('HDEL', KEY.gate_records, name)
  else
    call('HSET', KEY.gate_records, name, call('HINCRBY', KEY.seq, 'gate', 1) .. ' ' .. record)
  end
  kept.forget_remembered('revisions')
  gates.set_limits(name, limits)
end
