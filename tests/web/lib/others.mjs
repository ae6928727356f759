// How many cores other programs use: on a machine that does other work, a page waits for a core more often than it works.
import {readdirSync, readFileSync} from 'node:fs';

const TICKS_PER_SECOND = 100;
const BUSY_CORES = 0.2;

/** Seconds of CPU of everything on this machine. */
function ofAll() {
  const [user, nice, system, , , irq, softirq] = readFileSync('/proc/stat', 'utf8').split('\n', 1)[0].split(/\s+/).slice(1).map(Number);
  return (user + nice + system + irq + softirq) / TICKS_PER_SECOND;
}

function processes() {
  const found = new Map();
  for (const pid of readdirSync('/proc').filter(name => /^\d+$/.test(name))) {
    try {
      const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
      const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ').map(Number);
      found.set(Number(pid), {parent: fields[1], seconds: fields.slice(11, 15).reduce((sum, ticks) => sum + ticks, 0) / TICKS_PER_SECOND});
    } catch {
      // it has ended meanwhile
    }
  }
  return found;
}

/** Seconds of CPU of this program and of all that it started. */
function ofOurs() {
  const all = processes();
  const isOurs = pid => {
    for (let at = pid; all.has(at); at = all.get(at).parent) if (at === process.pid) return true;
    return false;
  };
  return [...all].reduce((sum, [pid, {seconds}]) => sum + (isOurs(pid) ? seconds : 0), 0);
}

/** Starts to watch; the answer tells the cores that others used since then, and whether that disturbs what is measured. */
export function watchOthers() {
  const before = {at: performance.now(), others: ofAll() - ofOurs()};
  return () => {
    const cores = Math.max(0, ofAll() - ofOurs() - before.others) / ((performance.now() - before.at) / 1000);
    return {cores: Math.round(cores * 100) / 100, areBusy: cores > BUSY_CORES};
  };
}
