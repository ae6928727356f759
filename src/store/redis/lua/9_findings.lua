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

local function is_irreplaceable(kind)
  for _, word in ipairs(IRREPLACEABLE) do
    if NAME[word] == kind then return true end
  end
  return false
end

-- A key that holds something else than we write there holds nothing of ours. Where what belongs there follows from the tasks it
-- goes; else it is set aside, for whoever knows what it is.
function findings.drop_wrong_type(key, stored, right, mending)
  local aside = is_irreplaceable(string.match(key, '^[%a_]+:?')) and 'set_aside:' .. key
  found('wrong_type', key .. ' is a ' .. stored .. ', not a ' .. right .. (mending and aside and '; it is kept as ' .. aside or ''),
        mending)
  if not mending then return end
  if aside then call('RENAME', P .. key, P .. aside) else call('DEL', P .. key) end
end

-- ---- what was written, by its number in `seq`, and whether it is there

-- The last version of a document; 0 if there never was one. Whether it is there.
local function document_facts(word, field)
  local version = call('HGET', KEY[word], 'version')
  local is_there = version and call('HEXISTS', KEY[word], string.format(field, version)) or 0
  return call('HGET', KEY.seq, word) or '0', is_there
end

-- The number of the first event that is there; nil if there is none.
local function first_event_there()
  local entry = call('XRANGE', KEY.events, '-', '+', 'COUNT', 1)[1]
  return entry and number_of(entry) - event.number_in(entry) + 1
end

-- args: now, 'check' or 'repair'. Answers what core/inventory.h judges: version of the policy and whether it is there, the
-- same of the access tokens, the first event that retention has left, the last event, the first that is there or 0. A repair
-- takes it that what is there is all.
function functions.inventory(keys, args)
  begin(keys, args)
  local policy, has_policy = document_facts('config', 'document:%s')
  local tokens, has_tokens = document_facts('access_tokens', 'document')
  local numbered = call('HMGET', KEY.seq, 'event', 'first_event')
  local last, there = numbered[1] or '0', first_event_there()
  if args[2] == 'repair' then call('HSET', KEY.seq, 'first_event', whole(there or tonumber(last) + 1)) end
  return {policy, has_policy, tokens, has_tokens, numbered[2] or '1', last, there or 0}
end
