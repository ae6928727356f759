-- The keys of a store; docs/reference/redis-keys.md says what each holds. Redis lends no functions while a library loads, so
-- these are plain tables.

-- How the library calls a key -> its name in Redis. Behind one that ends in a colon follows an id, or another name.
local NAME = {
  seq = 'seq', counts = 'counts',
  -- of a task
  task = 't:', body = 'b:', result = 'r:', checkpoint = 'c:', progress = 'p:', history = 'h:', log = 'log:',
  log_totals = 'log_totals:', children = 'children:', dependents = 'dependents:',
  -- tasks
  tasks = 'tasks', request = 'request:', tag = 'tag:', dedupe = 'dedupe:', dedupe_open = 'dedupe_open:', scheduled = 'scheduled',
  leases = 'leases', revoked = 'revoked', finished = 'finished', deadlines = 'deadlines', cascades = 'cascades',
  quarantine = 'quarantine',
  -- lanes and lines
  lane = 'lane:', lanes = 'lanes', damaged_lanes = 'damaged_lanes', line = 'line:', group = 'group:', oldest = 'oldest:',
  vt = 'vt:', turns = 'turns',
  -- gates
  gates = 'gates', gate_records = 'gate_records', in_use = 'in_use', rate_at = 'rate_at', spent = 'spent', aside = 'aside', waits = 'waits:', waited = 'waited',
  wake = 'wake', cursor = 'cursor',
  -- workers
  worker = 'worker:', workers = 'workers', pool = 'pool:', pools = 'pools', pools_of = 'pools:', pool_lines = 'pool_lines',
  pool_visits = 'pool_visits', tokens = 'tokens:', sweep_tokens = 'sweep_tokens',
  -- the store
  events = 'events', epochs = 'epochs', config = 'config', health = 'health', access_tokens = 'access_tokens',
  believed_time = 'believed_time', bulk = 'bulk', ledger = 'ledger:', ledger_days = 'ledger_days', stats_history = 'stats_history',
  past_alerts = 'past_alerts', views = 'views',
}

-- Of each type, how the library calls them.
local WORDS_OF_TYPE = {
  string = {'task', 'body', 'result', 'checkpoint', 'progress', 'history', 'request'},
  hash = {'seq', 'counts', 'log_totals', 'lanes', 'vt', 'turns', 'gates', 'gate_records', 'in_use', 'rate_at', 'spent', 'aside', 'cursor', 'worker',
          'pool_lines', 'pool_visits', 'config', 'health', 'access_tokens', 'believed_time', 'bulk', 'ledger', 'stats_history', 'past_alerts',
          'views'},
  zset = {'children', 'dependents', 'tag', 'dedupe', 'dedupe_open', 'scheduled', 'leases', 'revoked', 'finished', 'deadlines',
          'cascades', 'line', 'group', 'oldest', 'waits', 'waited', 'wake', 'workers', 'pool', 'ledger_days'},
  stream = {'tasks', 'events', 'lane', 'log'},
  set = {'quarantine', 'damaged_lanes', 'pools', 'pools_of'},
  list = {'tokens', 'sweep_tokens', 'epochs'},
}

-- What these hold is nowhere else.
local IRREPLACEABLE = {'task', 'body', 'result', 'checkpoint', 'progress', 'history', 'log', 'worker', 'events', 'epochs', 'config',
                       'gate_records', 'access_tokens', 'health', 'bulk', 'ledger', 'spent', 'stats_history', 'past_alerts', 'views'}

local P         -- prefix of every key: "{ade}:"
local KEY = {}  -- how the library calls a key -> the prefix and its name

local function put_prefix(prefix)
  P = prefix
  for word, name in pairs(NAME) do KEY[word] = prefix .. name end
end
