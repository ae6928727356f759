-- What a call of fsck finds, and how it is told: {code, detail, repaired, tasks that the caller has to mend by the rules}…

local told
local all_n
local kinds     -- code -> how many there are; of those that are not told, whether all are repaired, and their tasks
local told_max  -- of one kind; the rest is summed up in one more

function findings.start(most)
  told, all_n, kinds, told_max = {}, 0, {}, most
end

-- task: the one that the caller has to mend by the rules; none otherwise.
local function found(code, detail, repaired, task)
  local kind = kinds[code]
  if not kind then
    kind = {n = 0, repaired = true, tasks = {}}
    kinds[code] = kind
    kinds[#kinds + 1] = code
  end
  kind.n = kind.n + 1
  all_n = all_n + 1
  if kind.n <= told_max then
    told[#told + 1] = {code, detail, repaired and 1 or 0, task or ''}
  else
    kind.repaired = kind.repaired and repaired
    kind.tasks[#kind.tasks + 1] = task
  end
end
findings.found = found

-- How many so far.
function findings.n()
  return all_n
end

function findings.all()
  for _, code in ipairs(kinds) do
    local kind = kinds[code]
    if kind.n > told_max then
      told[#told + 1] = {code, 'and ' .. whole(kind.n - told_max) .. ' more', kind.repaired and 1 or 0,
                         table.concat(kind.tasks, ' ')}
    end
  end
  return told
end

-- A key that holds something else than we write there holds nothing of ours: it goes.
function findings.drop_wrong_type(key, stored, right, mending)
  found('wrong_type', key .. ' is a ' .. stored .. ', not a ' .. right, mending)
  if mending then call('DEL', P .. key) end
end
