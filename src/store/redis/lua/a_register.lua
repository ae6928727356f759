-- Names under which the functions are called.

local function add(name, callback, flags)
  redis.register_function({function_name = LIBRARY .. '_' .. name, callback = callback, flags = flags})
end

local READS = {'no-writes'}
local ALWAYS = {'allow-oom'}  -- what ends work must go on when memory is short

add('version', function() return VERSION end, READS)
add('clock', clock, READS)
add('read', read, READS)
add('relatives', relatives, READS)
add('find_request', find_request, READS)
add('find_dedupe', find_dedupe, READS)
add('list', list, READS)
add('runs', runs, READS)
add('events', read_events, READS)
add('last_event', last_event, READS)
add('log', read_log, READS)
add('count_scopes', count_scopes, READS)
add('queues', queues, READS)
add('read_gates', read_gates, READS)
add('gates', all_gates, READS)
add('standing', standing, READS)
add('due', due, READS)
add('past_deadline', past_deadline, READS)
add('lapsed', lapsed, READS)
add('cascades', cascades, READS)
add('next_wake', next_wake, READS)
add('workers', workers, READS)
add('config', config, READS)

add('enqueue', apply, {})  -- groups that add tasks: refused whole when memory is short
add('apply', apply, ALWAYS)
add('claim', claim, {})
add('renew', renew, ALWAYS)
add('note', note, ALWAYS)
add('wake_gates', wake_gates, ALWAYS)
add('expire', expire, ALWAYS)
add('register_worker', register_worker, {})
add('unregister_worker', unregister_worker, ALWAYS)
add('forget_workers', forget_workers, ALWAYS)
add('put_config', put_config, ALWAYS)
add('make_pool', make_pool, {})
