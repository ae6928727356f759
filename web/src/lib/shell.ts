// The same action as a command line. People paste it into a terminal, so every argument is quoted for a POSIX shell.

const PLAIN = /^[A-Za-z0-9_.,:@%+=\/-]+$/;

export function quote(argument: string): string {
  if (PLAIN.test(argument)) return argument;
  return `'${argument.replaceAll("'", `'\\''`)}'`;
}

/** `drover` with these arguments; undefined, null and false leave an argument out. */
export function drover(...words: (string | number | null | undefined | false)[]): string {
  const kept = words.filter((word): word is string | number => word !== null && word !== undefined && word !== false);
  return ['drover', ...kept.map(word => quote(String(word)))].join(' ');
}

/** `--name value`, or nothing when there is no value. */
export function flag(name: string, value: string | number | null | undefined): (string | undefined)[] {
  return value === null || value === undefined || value === '' ? [] : [`--${name}`, String(value)];
}
