-- What lets lanes and workers go on: gates whose time has come, and the pools of lines in which workers sleep.

-- ---- gates

local function next_queue(gate, after)
  local found = call('ZRANGEBYLEX', KEY.waits .. gate, '(' .. after, '+', 'LIMIT', 0, 1)[1]
  return found or call('ZRANGEBYLEX', KEY.waits .. gate, '-', '+', 'LIMIT', 0, 1)[1]
end

-- One round over one gate. Returns how many lanes it let go.
local REFUSALS_MAX = 64

local function wake_gate(gate, budget)
  local limits = gates.limits_of(gate) or gates.NONE
  local use = gates.use(gate, limits)
  local cursor = call('HGET', KEY.cursor, gate) or ''
  local refused = {}  -- queues whose first lane may not go
  local refusals, woken = 0, 0
  local again
  while woken < budget and refusals < REFUSALS_MAX do
    local queue = next_queue(gate, cursor)
    if not queue or refused[queue] then break end
    cursor = queue
    local lane = first(gate .. '||' .. queue)
    local parts = parts_of(lane)
    local of_type = limits.budgets and gates.limits_of('type:' .. parts.type)
    local per_run = of_type and of_type.per_run
    local room, look_again, whatever_cost = gates.ask(limits, use, parts.cost, per_run)
    if room > 0 then
      wake(lane, parts, where_is(lane))
      gates.spend_in(limits, use, parts.cost, 1, per_run)
      woken = woken + 1
      refused, refusals = {}, 0
    else
      refused[queue] = true
      refusals = refusals + 1
      if look_again and (not again or look_again < again) then again = look_again end
      if whatever_cost then break end
    end
  end
  if gates.has_waiting(gate) then
    call('HSET', KEY.cursor, gate, cursor)
    if woken > 0 or refusals >= REFUSALS_MAX then again = NOW end
    if again then
      call('ZADD', KEY.wake, whole(again), gate)
      due_at(again)
    else
      call('ZREM', KEY.wake, gate)
    end
  end
  return woken
end

local WAKES_MAX = 16

function lanes.wake_gates()
  local woken = 0
  for _, gate in ipairs(call('ZRANGEBYSCORE', KEY.wake, '-inf', whole(NOW), 'LIMIT', 0, WAKES_MAX)) do
    if woken >= WAKES_MAX then break end
    woken = woken + wake_gate(gate, WAKES_MAX - woken)
  end
  return woken
end

-- ---- pools: the sets of lines that workers serve together

local function best_rank(line)
  local best = kept.first(line_of(line).key)
  return best and tonumber(string.sub(best, 1, 1))
end

local function rank_in_pool(pool, line, rank, turn)
  if rank then
    call('ZADD', KEY.pool .. pool, whole(rank * BAND + turn), line)
  else
    call('ZREM', KEY.pool .. pool, line)
  end
end

local TOKENS = {'1', '1', '1', '1', '1', '1', '1', '1', '1', '1', '1', '1', '1', '1', '1', '1'}
local TOKENS_MAX = #TOKENS

local function rank_in_pools(line, pools, except)
  local rank, turn = best_rank(line), nil
  for _, pool in ipairs(pools) do
    if pool ~= except and pool ~= line then
      turn = turn or tonumber(call('HGET', KEY.turns, line)) or 0
      rank_in_pool(pool, line, rank, turn)
    end
  end
  return rank
end

-- The pools that a line is in. One of a single line has its name.
local function pools_of(line)
  return kept.remembered('pools')[line] or kept.remember('pools', line, call('SMEMBERS', KEY.pools_of .. line))
end

-- Between two visits of a claim, so that the next one chooses well. Lines that are set aside stay out of its own pool.
function lanes.rank_touched(own_pool, aside)
  for line in pairs(touched) do
    rank_in_pools(line, pools_of(line), aside[line] and own_pool)
  end
end

-- At the end of a call: pools learn which lines have work, and sleeping workers get tokens for what is new.
function lanes.tell_pools()
  for line, fresh in pairs(touched) do
    local pools = pools_of(line)
    if #pools > 0 and rank_in_pools(line, pools) and fresh > 0 then
      for _, pool in ipairs(pools) do
        local tokens = KEY.tokens .. pool
        local more = math.min(TOKENS_MAX - call('LLEN', tokens), fresh)
        if more > 0 then call('RPUSH', tokens, unpack(TOKENS, 1, more)) end
      end
    end
  end
  touched = {}
end

function lanes.start()
  touched = {}
  kept.expect_changes()
end

function lanes.make_pool(pool, lines)
  call('DEL', KEY.pool .. pool)
  call('SADD', KEY.pools, pool)
  for _, line in ipairs(lines) do
    call('SADD', KEY.pools_of .. line, pool)
    rank_in_pool(pool, line, best_rank(line), tonumber(call('HGET', KEY.turns, line)) or 0)
  end
  call('HSET', KEY.pool_lines, pool, #lines == 1 and lines[1] or '')
  kept.forget_remembered('pools')
  kept.forget_hash(KEY.pool_lines)
end

-- The line that a pool consists of, '' if there are several; false if there is no such pool.
function lanes.line_of_pool(pool)
  return kept.text(KEY.pool_lines, pool)
end
