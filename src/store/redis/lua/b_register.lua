-- Names under which the functions are called.

local function add(name, callback, flags)
  redis.register_function({function_name = LIBRARY .. '_' .. name, callback = callback, flags = flags})
end

local READS = {'no-writes'}
local ALWAYS = {'allow-oom'}  -- what ends work must go on when memory is short

add('version', function() return VERSION end, READS)
add('clock', functions.clock, READS)
add('read', functions.read, READS)
add('relatives', functions.relatives, READS)
add('find_request', functions.find_request, READS)
add('find_dedupe', functions.find_dedupe, READS)
add('list', functions.list, READS)
add('runs', functions.runs, READS)
add('events', functions.read_events, READS)
add('last_event', functions.last_event, READS)
add('changes', functions.changes, READS)
add('log', functions.read_log, READS)
add('count_scopes', functions.count_scopes, READS)
add('queues', functions.queues, READS)
add('read_gates', functions.read_gates, READS)
add('gates', functions.all_gates, READS)
add('standing', functions.standing, READS)
add('due', functions.due, READS)
add('past_deadline', functions.past_deadline, READS)
add('lapsed', functions.lapsed, READS)
add('cascades', functions.cascades, READS)
add('next_wake', functions.next_wake, READS)
add('workers', functions.workers, READS)
add('config', functions.config, READS)

add('enqueue', functions.apply, {})  -- groups that add tasks: refused whole when memory is short
add('apply', functions.apply, ALWAYS)
add('claim', functions.claim, {})
add('renew', functions.renew, ALWAYS)
add('note', functions.note, ALWAYS)
add('quarantine', functions.quarantine, ALWAYS)
add('wake_gates', functions.wake_gates, ALWAYS)
add('expire', functions.expire, ALWAYS)
add('register_worker', functions.register_worker, {})
add('unregister_worker', functions.unregister_worker, ALWAYS)
add('forget_workers', functions.forget_workers, ALWAYS)
add('put_config', functions.put_config, ALWAYS)
add('make_pool', functions.make_pool, {})
add('fsck', functions.fsck, ALWAYS)
add('epochs', functions.epochs, ALWAYS)
