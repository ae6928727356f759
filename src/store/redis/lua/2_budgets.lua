-- Budgets of gates: what is spent of them in each period, and what is set aside for runs that go on. core/budget.cc says the
-- same in C++.

local UNITS = {'usd', 'tokens', 'turns', 'wall'}
local UNLIMITED = 1000000

-- Behind the five numbers of a gate's limits: "r:usd:tokens:turns:wall", what is set aside for a run of its type, and of each
-- budget "b:unit:limit:period:resets_at", '-' for never.
function budgets.parse(text, limits)
  for word in string.gmatch(text, '%S+') do
    local usd, tokens, turns, wall = string.match(word, '^r:(%d+):(%d+):(%d+):(%d+)$')
    if usd then
      limits.per_run = {usd = tonumber(usd), tokens = tonumber(tokens), turns = tonumber(turns), wall = tonumber(wall)}
    else
      local unit, limit, period, resets = string.match(word, '^b:(%l+):(%d+):([^:]+):(%S+)$')
      if unit then
        limits.budgets = limits.budgets or {}
        limits.budgets[#limits.budgets + 1] = {unit = unit, limit = tonumber(limit), period = period,
                                               resets_at = tonumber(resets)}
      end
    end
  end
end

local function spent_field(name, budget)
  return name .. '|' .. budget.unit .. '|' .. budget.period
end

function budgets.spent(name, budget)
  return kept.number(KEY.spent, spent_field(name, budget)) or 0
end

function budgets.aside(name, unit)
  return kept.number(KEY.aside, name .. '|' .. unit) or 0
end

-- What is left of each.
function budgets.left(name, limits)
  local left = {}
  for i, budget in ipairs(limits.budgets) do
    left[i] = budget.limit - budgets.spent(name, budget) - budgets.aside(name, budget.unit)
  end
  return left
end

-- As gates.ask: how many runs may start; if none, when the period ends.
function budgets.ask(limits, left, per_run)
  local room, look_again = UNLIMITED, nil
  for i, budget in ipairs(limits.budgets) do
    local one = per_run and per_run[budget.unit] or 0
    local here = left[i] <= 0 and 0 or one > 0 and math.floor(left[i] / one) or UNLIMITED
    room = math.min(room, here)
    if here == 0 and budget.resets_at then look_again = math.max(look_again or 0, budget.resets_at) end
  end
  if room > 0 then return room end
  return 0, look_again, false
end

function budgets.take(limits, left, per_run, started)
  for i, budget in ipairs(limits.budgets) do left[i] = left[i] - started * (per_run and per_run[budget.unit] or 0) end
end

-- Each unit of a gate's budgets once.
local function units_of(limits)
  local units, seen = {}, {}
  for _, budget in ipairs(limits.budgets) do
    if not seen[budget.unit] then units[#units + 1] = budget.unit end
    seen[budget.unit] = true
  end
  return units
end

local function add_aside(name, unit, amount)
  if amount == 0 then return end
  kept.set(KEY.aside, name .. '|' .. unit, math.max(0, budgets.aside(name, unit) + amount))
end

function budgets.set_aside(name, limits, per_run, started)
  if not per_run then return end
  for _, unit in ipairs(units_of(limits)) do add_aside(name, unit, started * per_run[unit]) end
end

-- ---- what a run spends: four numbers each of what was spent and granted before, and afterwards; 1 if it ends; 1 if it takes a
-- slice. False: it ends, and has spent nothing.

local NOTHING = {usd = 0, tokens = 0, turns = 0, wall = 0}
local ENDED = {spent = NOTHING, granted = NOTHING, now_spent = NOTHING, now_granted = NOTHING, ends = true}

function budgets.parse_spend(text)
  if not text then return ENDED end
  local numbers = {}
  for number in string.gmatch(text, '%S+') do numbers[#numbers + 1] = tonumber(number) end
  local function four(from)
    return {usd = numbers[from], tokens = numbers[from + 1], turns = numbers[from + 2], wall = numbers[from + 3]}
  end
  return {spent = four(1), granted = four(5), now_spent = four(9), now_granted = four(13), ends = numbers[17] == 1,
          takes_slice = numbers[18] == 1}
end

local function held_back(per_run, unit, spent, granted)
  return math.max(0, math.max(per_run and per_run[unit] or 0, granted[unit]) - spent[unit])
end

local function aside_by(spend, per_run, unit)
  local after = spend.ends and 0 or held_back(per_run, unit, spend.now_spent, spend.now_granted)
  return after - held_back(per_run, unit, spend.spent, spend.granted)
end

local function book(name, limits, per_run, spend)
  for _, budget in ipairs(limits.budgets) do
    local more = spend.now_spent[budget.unit] - spend.spent[budget.unit]
    if more ~= 0 then
      kept.set(KEY.spent, spent_field(name, budget), math.max(0, budgets.spent(name, budget) + more))
    end
  end
  for _, unit in ipairs(units_of(limits)) do add_aside(name, unit, aside_by(spend, per_run, unit)) end
end

-- In every gate of the lane that has a budget. all: its limits, as gates.limits answers.
function budgets.book_all(parts, all, spends)
  if not all.has_budgets then return end
  local per_run = all[3] and all[3].per_run
  for i, name in ipairs(parts.gates) do
    if all[i] and all[i].budgets then
      for _, spend in ipairs(spends) do book(name, all[i], per_run, budgets.parse_spend(spend)) end
    end
  end
end

-- Whether every gate of the lane has left what the run takes.
function budgets.has_room(parts, all, text)
  local spend = budgets.parse_spend(text)
  if not spend.takes_slice or not all.has_budgets then return true end
  local per_run = all[3] and all[3].per_run
  for i, name in ipairs(parts.gates) do
    if all[i] and all[i].budgets then
      for j, left in ipairs(budgets.left(name, all[i])) do
        local unit = all[i].budgets[j].unit
        local more = spend.now_spent[unit] - spend.spent[unit] + aside_by(spend, per_run, unit)
        if spend.now_granted[unit] > spend.granted[unit] and left - more < 0 then return false end
      end
    end
  end
  return true
end

-- ---- counting anew

-- Where a running task stands, by its record.
local function run_of(record)
  local rest = rest_of(record)
  local run = rest.run_budget
  if type(run) == 'string' then run = cjson.decode(run) end
  local function named(list)
    if type(list) ~= 'table' then return NOTHING end
    return {usd = list[1] or 0, tokens = list[2] or 0, turns = list[3] or 0, wall = list[4] or 0}
  end
  if type(run) ~= 'table' then return NOTHING, NOTHING end
  return named(run.spent), named(run.granted)
end

-- What must be set aside: field -> amount.
function budgets.count_asides()
  local sums = {}
  local ids = call('ZRANGE', KEY.leases, 0, -1)
  fetch_records(ids)
  for _, id in ipairs(ids) do
    local record = record_of(id)
    if record and record.state == 'running' then
      local parts = parts_of(record.lane)
      local all = gates.limits(parts)
      if all.has_budgets then
        local per_run, spent, granted = all[3] and all[3].per_run, run_of(record)
        for i, name in ipairs(parts.gates) do
          if all[i] and all[i].budgets then
            for _, unit in ipairs(units_of(all[i])) do
              local held = held_back(per_run, unit, spent, granted)
              local field = name .. '|' .. unit
              if held > 0 then sums[field] = (sums[field] or 0) + held end
            end
          end
        end
      end
    end
  end
  return sums
end

-- How much is set aside goes by these.
function budgets.signature(limits)
  if not limits then return '' end
  local units = limits.budgets and units_of(limits) or {}
  table.sort(units)
  local r = limits.per_run or NOTHING
  return table.concat(units, ' ') .. '|' .. whole(r.usd) .. ' ' .. whole(r.tokens) .. ' ' .. whole(r.turns) .. ' ' .. whole(r.wall)
end

local is_stale = false

function budgets.compare(before, after)
  if budgets.signature(before) ~= budgets.signature(after) then is_stale = true end
end

function budgets.recount()
  is_stale = false
  kept.save()
  call('DEL', KEY.aside)
  kept.forget_hash(KEY.aside)
  for field, amount in pairs(budgets.count_asides()) do kept.set(KEY.aside, field, amount) end
end

function budgets.recount_if_stale()
  if is_stale then budgets.recount() end
end

-- What is spent in days and months: gate -> {field, unit, date, zone}. Listed once in a call, because all gates change their
-- periods at midnight.
local function list_periods()
  if budgets.periods then return end
  kept.save()
  budgets.periods = {}
  for _, field in ipairs(call('HKEYS', KEY.spent)) do
    local gate, unit, date, zone = string.match(field, '^(.+)|(%l+)|([%d-]+)@(.+)$')
    if gate then
      local of_gate = budgets.periods[gate] or {}
      budgets.periods[gate] = of_gate
      of_gate[#of_gate + 1] = {field = field, unit = unit, date = date, zone = zone}
    end
  end
end

local function forget_earlier(periods, limits)
  for _, one in ipairs(periods or {}) do
    for _, budget in ipairs(limits.budgets) do
      local date, zone = string.match(budget.period, '^([%d-]+)@(.+)$')
      if date and one.unit == budget.unit and one.zone == zone and #one.date == #date and one.date < date then
        kept.set(KEY.spent, one.field, false)
      end
    end
  end
end

-- Nobody asks for what was spent in a period that is over; the ledger has it.
function budgets.forget_periods(name, limits)
  if not limits or not limits.budgets then return end
  list_periods()
  forget_earlier(budgets.periods[name], limits)
  if name ~= 'owner:*' then return end
  for gate, periods in pairs(budgets.periods) do
    if string.sub(gate, 1, 6) == 'owner:' then forget_earlier(periods, limits) end
  end
end

-- Of a gate, for who reads it: what is set aside in each unit, and what is spent of each budget.
function budgets.use_text(name, limits)
  if not limits or not limits.budgets then return '' end
  local words = {}
  for _, unit in ipairs(UNITS) do words[#words + 1] = whole(budgets.aside(name, unit)) end
  for _, budget in ipairs(limits.budgets) do words[#words + 1] = whole(budgets.spent(name, budget)) end
  return table.concat(words, ' ')
end

-- args: now. Answers field and amount of all that is spent, an empty field, then of all that is set aside.
function functions.spend(keys, args)
  begin(keys, args)
  local answer = call('HGETALL', KEY.spent)
  answer[#answer + 1], answer[#answer + 2] = '', ''
  for _, text in ipairs(call('HGETALL', KEY.aside)) do answer[#answer + 1] = text end
  return answer
end
