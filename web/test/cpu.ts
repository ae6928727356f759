/** CPU time of a function in milliseconds: unlike the clock, it does not depend on what else the machine does. */
export function cpuMs(run: () => void): number {
  const before = process.cpuUsage();
  run();
  const used = process.cpuUsage(before);
  return (used.user + used.system) / 1000;
}
