-- A task's record: one string, see the keys' reference. What stands where in it is known here, and nowhere else in this library.
-- First line: what this library keeps (rev seq place bytes renewed beats marks) and what the rules say (state run attempts
-- started lease worker generation deadline cancel cascade lane); then the rest of it as JSON, the last ended run, and the
-- result. '~' is nothing.
-- Marks: what else there is. e: an ended run in the record, h: earlier ones in a key of their own; s: a small result in the
-- record, r: a large one in a key; c: checkpoint, p: progress.

local records = {}  -- what the library makes of a record's text

local RECORD = '^(%d+) (%d+) (%d+) (%d+) (%d+) (%d+) ([%l~]+) ((%l+) (%d+) (%d+) ([%d~]+) (%S+) (%S+) (%d+) ([%d~]+) ([%d~]+) ' ..
               '([01]) ([^\n]+)\n(.*))$'

-- Nil if there is no record, or none that our own arithmetic can use. Everything else is judged by who reads it.
local function parse_record(text)
  if not text then return nil end
  local rev, seq, place, bytes, renewed, beats, marks, said, state, run, attempts, started, lease, worker, generation,
        deadline, cancel, cascade, lane, tail = string.match(text, RECORD)
  if not rev or not IS_STATE[state] or not parts_of(lane) or (state == 'running' and started == '~') then return nil end
  return {rev = rev, seq = seq, place = place, bytes = bytes, renewed = renewed, beats = beats, marks = marks, said = said,
          state = state, run = run, started = started, lease = lease, worker = worker, generation = generation,
          deadline = deadline, cancel = cancel, cascade = cascade, lane = lane, tail = tail}
end

local function record_of(id)
  return parse_record(get(KEY.task .. id))
end

local function fetch_records(ids)
  local keys = {}
  for i = 1, #ids do keys[i] = KEY.task .. ids[i] end
  fetch(keys)
end

-- What a renewal or a note changes.
local function put_kept(id, record)
  put(KEY.task .. id, record.rev .. ' ' .. record.seq .. ' ' .. record.place .. ' ' .. record.bytes .. ' ' .. record.renewed ..
                       ' ' .. record.beats .. ' ' .. record.marks .. ' ' .. record.said)
end

-- The rest as a table.
local function rest_of(record)
  return cjson.decode(string.match(record.tail, '^[^\n]*'))
end

-- The ended run that is in the record; '' if there is none.
local function inner_run(record)
  return string.match(record.tail, '^[^\n]*\n([^\n]*)')
end

local function has_mark(marks, mark)
  return string.find(marks, mark, 1, true) ~= nil
end

local function with_mark(marks, mark)
  if has_mark(marks, mark) then return marks end
  return marks == '~' and mark or marks .. mark
end

local function without_mark(marks, mark)
  if not has_mark(marks, mark) then return marks end
  local left = string.gsub(marks, mark, '')
  return left == '' and '~' or left
end

-- ---- a part of it, where to take all of it to pieces costs more

-- Of a stored one that a step is about: rev, seq, place, bytes, beats, marks, state, started, worker, deadline, cascade, lane.
function records.stored(text)
  return string.match(text, '^(%d+) (%d+) (%d+) (%d+) %d+ (%d+) ([%l~]+) (%l+) %d+ %d+ ([%d~]+) %S+ (%S+) %d+ (%S+) %S+ ([01]) ([^\n]+)\n')
end

-- Of one that waits: rev, seq and place, bytes, marks, state, run, attempts, what a claim leaves alone, generation, lane.
function records.waiting(text)
  return string.match(text, '^(%d+) (%d+ %d+) (%d+) %d+ %d+ ([%l~]+) (%l+) (%d+) (%d+) %S+ %S+ %S+ ((%d+) %S+ %S+ [01] ([^\n]+)\n.*)$')
end

-- Of a task that nothing has happened to since it was added only the beginning is taken to pieces, which costs most of all; what
-- follows up to the end of the line is compared as a whole.
local UNTOUCHED_BEGIN, UNTOUCHED_END = ' 0 0 ~ pending 0 0 ~ ~ ~ ', '1 ~ ~ 0 '

function records.untouched_words(lane)
  return UNTOUCHED_BEGIN .. UNTOUCHED_END .. lane .. '\n'
end

-- Seq and place, bytes, what a claim leaves alone; nil if something has happened to it.
function records.untouched(text, words)
  local where, bytes, at = string.match(text, '^1 (%d+ %d+) (%d+)()')
  if where and string.find(text, words, at, true) == at then return where, bytes, string.sub(text, at + #UNTOUCHED_BEGIN) end
end

-- When it was renewed, and how often.
function records.renewals(text)
  return string.match(text, '^%d+ %d+ %d+ %d+ (%d+ %d+) ')
end

function records.marks(text)
  return string.match(text, '^%d+ %d+ %d+ %d+ %d+ %d+ ([%l~]+) ')
end

function records.state_and_lane(text)
  return string.match(text, '^%d+ %d+ %d+ %d+ %d+ %d+ %S+ (%l+) [^\n]* ([^ \n]+)\n')
end

function records.bytes(text)
  return string.match(text, '^%d+ %d+ %d+ (%d+)')
end

-- Of one that runs, by how it begins.
function records.started(text)
  return string.match(text, 'running %d+ %d+ (%d+)')
end

-- The ended run and the result that are in it.
function records.inner_lines(text)
  return string.match(text, '^[^\n]*\n[^\n]*\n([^\n]*)\n(.*)$')
end

-- Renewals move two words, and nothing that matters to who ends a run.
local BESIDE_RENEWALS = '^(%d+ %d+ %d+ %d+) %d+ %d+ (~ running .+)'

-- Whether nothing but renewals has moved since it began so.
function records.begins_as(text, was)
  if string.find(text, was, 1, true) == 1 then return true end
  local kept, said = string.match(was, BESIDE_RENEWALS)
  local kept_now, said_now = string.match(text, BESIDE_RENEWALS)
  return kept == kept_now and said ~= nil and string.find(said_now, said, 1, true) == 1
end

-- ---- its text

-- said: what the rules say, and the rest.
function records.text(rev, seq, place, bytes, renewals, marks, said, run, result)
  return rev .. ' ' .. seq .. ' ' .. place .. ' ' .. bytes .. ' ' .. renewals .. ' ' .. marks .. ' ' .. said .. '\n' .. run .. '\n' .. result
end

-- Of a new task, of which the client made what stands behind the bytes.
function records.new_text(seq, place, bytes, behind)
  return '1 ' .. seq .. ' ' .. place .. ' ' .. bytes .. behind
end

-- left_alone: as records.waiting has it.
function records.running_text(rev, where, bytes, renewed, marks, run, attempts, lease, worker, left_alone)
  return rev .. ' ' .. where .. ' ' .. bytes .. ' ' .. renewed .. ' 0 ' .. marks .. ' running ' .. run .. ' ' .. attempts .. ' ' .. NOW_TEXT ..
         ' ' .. lease .. ' ' .. worker .. ' ' .. left_alone
end

-- Of what the rules say: its dependents are to be told.
function records.with_cascade(said)
  return (string.gsub(said, '^(%l+ %d+ %d+ %S+ %S+ %S+ %d+ %S+ %S+) 0 ', '%1 1 '))
end

-- A record that cannot be read is put apart, so that it stops nobody: out of everything that hands tasks out.
local function put_apart(id)
  call('SADD', KEY.quarantine, id)
  for _, key in ipairs({KEY.scheduled, KEY.leases, KEY.finished, KEY.deadlines, KEY.cascades}) do call('ZREM', key, id) end
end
