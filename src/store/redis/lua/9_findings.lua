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

local IS_IRREPLACEABLE = {['t:'] = true, ['b:'] = true, ['r:'] = true, ['c:'] = true, ['p:'] = true, ['h:'] = true, ['log:'] = true,
                          ['worker:'] = true, events = true, epochs = true, config = true, gate_records = true,
                          access_tokens = true, health = true}

-- A key that holds something else than we write there holds nothing of ours. Where what belongs there follows from the tasks it
-- goes; else it is set aside, for whoever knows what it is.
function findings.drop_wrong_type(key, stored, right, mending)
  local aside = IS_IRREPLACEABLE[string.match(key, '^[%a_]+:?')] and 'set_aside:' .. key
  found('wrong_type', key .. ' is a ' .. stored .. ', not a ' .. right .. (mending and aside and '; it is kept as ' .. aside or ''),
        mending)
  if not mending then return end
  if aside then call('RENAME', P .. key, P .. aside) else call('DEL', P .. key) end
end

-- ---- what was written, by its number in `seq`, and is gone

local DOCUMENTS = {
  {'config', 'policy_missing', 'the policy is gone (version %s); apply it again: drover config apply FILE'},
  {'access_tokens', 'access_tokens_missing', 'the access tokens are gone (version %s); create new ones: drover token create'},
}

local function document_is_there(key)
  local version = call('HGET', P .. key, 'version')
  return version and call('HEXISTS', P .. key, key == 'config' and 'document:' .. version or 'document') == 1
end

-- The number of the first event that is left; nil if there is none.
local function first_event_left()
  local entry = call('XRANGE', P .. 'events', '-', '+', 'COUNT', 1)[1]
  return entry and number_of(entry) - event.number_in(entry) + 1
end

-- Answers {code, detail}…, and the first event that is left if others before it are gone.
function findings.missing()
  local missing = {}
  for _, document in ipairs(DOCUMENTS) do
    local key, code, text = unpack(document)
    local version = call('HGET', P .. 'seq', key)
    if version and not document_is_there(key) then missing[#missing + 1] = {code, string.format(text, version)} end
  end
  local numbered = call('HMGET', P .. 'seq', 'event', 'first_event')
  local last, first = tonumber(numbered[1] or 0), tonumber(numbered[2] or 1)
  local left = first_event_left() or last + 1
  if left <= first then return missing end
  missing[#missing + 1] = {'events_missing', 'events ' .. whole(first) .. ' to ' .. whole(left - 1) .. ' are gone'}
  return missing, left
end

function functions.missing(keys, args)
  begin(keys, args)
  return (findings.missing())
end
