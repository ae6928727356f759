import {now} from '../lib/clock';
import {countdown, parseTime, plural} from '../lib/format';
import {closedGates} from '../live/gates';
import {href} from '../router';
import {Icon} from '../ui/icons';

/** A chip per provider that holds the fleet back: "anthropic: 42 tasks resume in 3:10". */
export function ProviderChips() {
  const held = closedGates.value.filter(gate => gate.name.startsWith('provider:'));
  if (!held.length) return null;
  return (
    <div class="chips providers">
      {held.map(gate => {
        const until = parseTime(gate.closed_until);
        const name = gate.name.slice('provider:'.length);
        const why = gate.holds.map(hold => hold.why).filter(Boolean).join('; ');
        return (
          <a key={gate.name} class="chip warning" href={href('/tasks', {q: `gate:${gate.name}`})} title={why || 'This provider is held back.'}>
            <Icon name="pause" size={12} />
            <span>{name}: {plural(gate.waiting_tasks, 'task')} {until === null ? 'held until opened' : `${gate.waiting_tasks === 1 ? 'resumes' : 'resume'} in ${countdown(until - now.value)}`}</span>
          </a>
        );
      })}
    </div>
  );
}
