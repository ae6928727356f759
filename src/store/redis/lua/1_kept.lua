-- What scheduling reads again and again, kept here between calls: the first members of sorted sets, and fields of hashes. A
-- call changes what is kept, and writes it at its end, each key once.
--
-- It counts only while nobody else has written. Every call that changes something of it leaves a new stamp in `seq`, and all
-- is forgotten unless the stamp that stands there is the one that stood there when it was read or written. No stamp is used
-- twice, by whatever server, so that no failover, restored copy or other database can pass for what is kept.

local KEPT_MAX = 1000  -- fields and members. Beyond that all is forgotten, and read again as far as it is needed
local FIRST_N, FIRST_MAX = 16, 64  -- how many members of a set are read, and how many it may grow to

local sets, hashes, tables, kept_n = {}, {}, {}, 0
local unwritten = {}       -- the sets and hashes that this call has changed
local is_known = false     -- whether this call has compared the stamps
local is_changed = false   -- whether it has changed anything that is not written yet
local is_under_way = false -- whether it may change anything: if it breaks off, all must be forgotten
local stamp = nil          -- that of the store as it is kept
local stamps_n, stamps_begin = 0, nil

local function forget()
  sets, hashes, tables, kept_n, unwritten = {}, {}, {}, 0, {}
end

-- So that the store itself is looked at.
function kept.read_anew()
  kept.save()
  forget()
  is_known = true
end

function kept.start()
  if is_changed or is_under_way then forget() end
  is_known, is_changed, is_under_way = false, false, false
end

function kept.expect_changes()
  kept.know()
  is_under_way = true
end

-- Before anything else here is called.
function kept.know()
  if is_known then return end
  is_known = true
  if not numbers then read_numbers() end
  if not numbers.stamp or numbers.stamp ~= stamp or kept_n > KEPT_MAX then forget() end
  stamp = numbers.stamp
end

-- Something that is kept was changed in the store itself.
function kept.changed()
  is_changed = true
end

local function mark(one)
  is_changed = true
  if not one.is_unwritten then
    one.is_unwritten = true
    unwritten[#unwritten + 1] = one
  end
end

-- What was remembered under that name: a table, empty when all was forgotten.
function kept.remembered(name)
  if not tables[name] then tables[name] = {} end
  return tables[name]
end

function kept.remember(name, key, value)
  local known = kept.remembered(name)
  if known[key] == nil then kept_n = kept_n + 1 end
  known[key] = value
  return value
end

function kept.forget_remembered(name)
  kept.changed()
  tables[name] = nil
end

-- ---- hashes: their values are texts, numbers, tables that make their text when it is written, or false where there is none

local function hash_of(key)
  local hash = hashes[key]
  if not hash then
    hash = {key = key, values = {}, changed = {}}
    hashes[key] = hash
  end
  return hash
end

-- The values of a hash, of which these fields are known.
function kept.fields(key, fields)
  local values, missing = (hashes[key] or hash_of(key)).values, nil
  for i = 1, #fields do
    if values[fields[i]] == nil then
      missing = missing or {}
      missing[#missing + 1] = fields[i]
    end
  end
  if not missing then return values end
  for from = 1, #missing, PIECE do
    local found = call('HMGET', key, unpack(missing, from, math.min(from + PIECE - 1, #missing)))
    for i = 1, #found do values[missing[from + i - 1]] = found[i] end
  end
  kept_n = kept_n + #missing
  return values
end

function kept.text(key, field)
  local values = hash_of(key).values
  local text = values[field]
  if text == nil then
    text = call('HGET', key, field)
    values[field] = text
    kept_n = kept_n + 1
  end
  return text
end

-- The same of a hash that holds numbers; nil if there is none.
function kept.number(key, field)
  local values = (hashes[key] or hash_of(key)).values
  local number = values[field]
  if number == nil then
    number = tonumber(kept.text(key, field) or nil) or false
    values[field] = number
  end
  return number or nil
end

-- Reads these fields of a hash that holds numbers, as far as they are not known.
function kept.read_numbers(key, fields)
  local values = kept.fields(key, fields)
  for i = 1, #fields do values[fields[i]] = tonumber(values[fields[i]] or nil) or false end
end

-- False: it goes.
function kept.set(key, field, value)
  local hash = hashes[key] or hash_of(key)
  local values = hash.values
  if values[field] == nil then kept_n = kept_n + 1 end
  values[field], hash.changed[field], is_changed = value, true, true
  if not hash.is_unwritten then mark(hash) end
end

-- To numbers that count something: one that comes to nothing goes.
function kept.add(key, fields, n)
  local values = kept.fields(key, fields)
  local hash = hashes[key]
  local changed = hash.changed
  for i = 1, #fields do
    local field = fields[i]
    values[field], changed[field] = (values[field] or 0) + n, true
  end
  mark(hash)
end

function kept.forget_hash(key)
  kept.changed()
  hashes[key] = nil
end

local function write_hash(hash)
  local texts, gone, n, values, changed = {}, {}, 0, hash.values, hash.changed
  for field in pairs(changed) do
    local value = values[field]
    changed[field] = nil  -- a new table would have to grow again
    if not value or value == 0 then
      values[field] = false
      gone[#gone + 1] = field
    else
      local kind = type(value)
      texts[n + 1], texts[n + 2] = field, kind == 'number' and whole(value) or kind == 'table' and value:to_text() or value
      n = n + 2
    end
  end
  call_in_pieces('HSET', hash.key, texts)
  call_in_pieces('HDEL', hash.key, gone)
end

-- ---- sorted sets
-- Of one that was looked at: `members`, the first ones in their order, with their `scores`. If `is_whole` there are no others;
-- if not, all others stand behind the `edge`.

local COMPARES_BYTES = 'B' < 'a'  -- the order of strings is that of the server's locale; that of members never is

local function is_less(a, b)
  if COMPARES_BYTES then return a < b end
  local n = math.min(#a, #b)
  for i = 1, n do
    local x, y = string.byte(a, i), string.byte(b, i)
    if x ~= y then return x < y end
  end
  return #a < #b
end

local function is_before(score, member, other_score, other)
  if score ~= other_score then return score < other_score end
  return is_less(member, other)
end

local function set_of(key)
  local set = sets[key]
  if not set then
    set = {key = key, changed = {}}
    sets[key] = set
    kept_n = kept_n + 1
  end
  return set
end

local function write_set(set)
  local scores, gone, changed = {}, {}, set.changed
  for member, score in pairs(changed) do
    changed[member] = nil
    if score then
      scores[#scores + 1] = whole(score)
      scores[#scores + 1] = member
    else
      gone[#gone + 1] = member
    end
  end
  call_in_pieces('ZADD', set.key, scores)
  call_in_pieces('ZREM', set.key, gone)
end

local function look_at(set)
  write_set(set)
  local found = call('ZRANGE', set.key, '0', whole(FIRST_N - 1), 'WITHSCORES')
  local members, scores = {}, {}
  for i = 1, #found, 2 do
    members[#members + 1] = found[i]
    scores[found[i]] = tonumber(found[i + 1])
  end
  set.members, set.scores, set.is_whole, set.edge = members, scores, #members < FIRST_N, members[#members]
  set.edge_score = scores[set.edge]
  kept_n = kept_n + #members
end

-- The first member and its score, nil if the set is empty; and the first members, if they were only read now.
function kept.first(key)
  local set, read = sets[key] or set_of(key), nil
  local members = set.members
  if not members or not members[1] and not set.is_whole then
    look_at(set)
    members, read = set.members, set.members
  end
  local member = members[1]
  return member, set.scores[member], read
end

function kept.is_empty(key)
  return not kept.first(key)
end

-- Whether it has no other member than its first one.
function kept.is_single(key)
  if not kept.first(key) then return false end
  local set = sets[key]
  return set.is_whole and not set.members[2]
end

-- Nil if it is no member.
function kept.score(key, member)
  local set = sets[key] or set_of(key)
  local score = set.changed[member]
  if score == nil and set.members then score = set.scores[member] end
  if score == nil and not set.is_whole then score = tonumber(call('ZSCORE', key, member) or nil) end
  return score or nil
end

local function take_out(set, member)
  if not set.scores[member] then return end
  set.scores[member] = nil
  local members = set.members
  for i = 1, #members do
    if members[i] == member then return table.remove(members, i) end
  end
end

local function put_in(set, member, score)
  local members, scores = set.members, set.scores
  local at = #members
  while at > 0 do
    local other = members[at]
    local other_score = scores[other]
    if other_score < score or other_score == score and is_less(other, member) then break end
    at = at - 1
  end
  if at == #members then members[at + 1] = member else table.insert(members, at + 1, member) end
  scores[member] = score
  if #members <= FIRST_MAX then return end
  for i = #members, FIRST_N + 1, -1 do
    scores[members[i]] = nil
    members[i] = nil
  end
  set.is_whole, set.edge = false, members[FIRST_N]
  set.edge_score = scores[set.edge]
end

function kept.rank(key, member, score)
  local set = sets[key] or set_of(key)
  if set.members then
    if set.scores[member] == score then return end
    take_out(set, member)
    if set.is_whole or is_before(score, member, set.edge_score, set.edge) then put_in(set, member, score) end
  end
  set.changed[member], is_changed = score, true
  if not set.is_unwritten then mark(set) end
end

function kept.unrank(key, member)
  local set = set_of(key)
  if set.members then take_out(set, member) end
  set.changed[member] = false
  mark(set)
end

-- ---- at the end of a call

-- Writes what was changed so far, for whoever looks at the store itself.
function kept.save()
  local gone = {}
  for i = 1, #unwritten do
    local one = unwritten[i]
    one.is_unwritten = false
    if one.values then
      write_hash(one)
    elseif one.is_whole and not one.members[1] then
      gone[#gone + 1] = one.key
      sets[one.key] = nil
    else
      write_set(one)
    end
  end
  for from = 1, #gone, PIECE do call('DEL', unpack(gone, from, math.min(from + PIECE - 1, #gone))) end
  unwritten = {}
end

-- Writes all, and answers with the stamp to be left; nil if nothing was changed.
function kept.finish()
  is_under_way = false
  if not is_changed then return nil end
  kept.save()
  is_changed = false
  if not stamps_begin then
    local time = call('TIME')
    stamps_begin = time[1] .. '.' .. time[2] .. '.' .. string.gsub(tostring({}), '^.* ', '') .. '.'
  end
  stamps_n = stamps_n + 1
  stamp = stamps_begin .. whole(stamps_n)
  return stamp
end
