import {now} from '../lib/clock';
import {isGateClosed, isRamping, rampWords} from '../lib/fleet';
import {countdown, parseTime, plural} from '../lib/format';
import {gates} from '../live/gates';
import {href} from '../router';
import {Icon} from '../ui/icons';

/**
 * A chip per provider that holds the fleet back: "anthropic: 42 tasks resume in 3:10, then one at a time"; while it comes back,
 * "anthropic: 2 of 8 at once, growing".
 */
export function ProviderChips() {
  const held = gates.value.filter(gate => gate.name.startsWith('provider:') && (isGateClosed(gate, now.value) || isRamping(gate, now.value)));
  if (!held.length) return null;
  return (
    <div class="chips providers">
      {held.map(gate => {
        const until = parseTime(gate.closed_until);
        const name = gate.name.slice('provider:'.length);
        const why = gate.holds.map(hold => hold.why).filter(Boolean).join('; ');
        const one = gate.waiting_tasks === 1;
        const tasks = plural(gate.waiting_tasks, 'task');
        const words = isRamping(gate, now.value) ? rampWords(gate)
          : until === null ? `${tasks} held until opened`
          : `${tasks} ${one ? 'resumes' : 'resume'} in ${countdown(until - now.value)}, then one at a time`;
        return (
          <a key={gate.name} class="chip warning" href={href('/tasks', {q: `gate:${gate.name}`})} title={why || 'This provider is held back.'}>
            <Icon name="pause" size={12} />
            <span>{name}: {words}</span>
          </a>
        );
      })}
    </div>
  );
}
