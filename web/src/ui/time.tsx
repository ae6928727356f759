import {now} from '../lib/clock';
import {absolute, age, duration, parseTime, relative} from '../lib/format';
import {timeZone} from '../lib/settings';

/** "3 m ago", the exact time on hover and for readers. */
export function Time({at, form = 'relative'}: {at: string | null | undefined; form?: 'relative' | 'age' | 'absolute'}) {
  const time = parseTime(at);
  if (time === null) return <span class="faint">–</span>;
  const exact = absolute(time, timeZone.value === 'utc');
  const text = form === 'absolute' ? exact : form === 'age' ? age(now.value - time) : relative(time, now.value);
  return <time dateTime={at!} title={exact} class="time">{text}</time>;
}

/** How long it took, or takes until now. */
export function Took({from, to}: {from: string | null | undefined; to: string | null | undefined}) {
  const start = parseTime(from);
  if (start === null) return <span class="faint">–</span>;
  const end = parseTime(to) ?? now.value;
  return <span class="time" title={`from ${absolute(start, timeZone.value === 'utc')}`}>{duration(end - start)}</span>;
}
