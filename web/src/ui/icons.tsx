// Icons of 16 by 16, drawn with strokes in the current colour. One place for the page and for rows that are drawn by hand.

const STROKES = {
  // states
  running: 'M8 1.75a6.25 6.25 0 1 0 6.25 6.25M8 4.5V8l2.4 1.6',
  pending: 'M8 2a6 6 0 1 0 0 12A6 6 0 0 0 8 2M5.4 8h.01M8 8h.01M10.6 8h.01',
  scheduled: 'M3 3.5h10v10H3zM3 6.5h10M5.8 1.8v3M10.2 1.8v3',
  blocked: 'M5.2 7V5a2.8 2.8 0 0 1 5.6 0v2M3.5 7h9v6.5h-9z',
  stalled: 'M8 2 1.8 13.2h12.4zM8 6.5v3M8 11.4v.1',
  completed: 'M8 1.9a6.1 6.1 0 1 0 0 12.2A6.1 6.1 0 0 0 8 1.9M5.2 8.2l2 2 3.6-4.2',
  failed: 'M8 1.9a6.1 6.1 0 1 0 0 12.2A6.1 6.1 0 0 0 8 1.9M5.8 5.8l4.4 4.4M10.2 5.8l-4.4 4.4',
  cancelled: 'M8 1.9a6.1 6.1 0 1 0 0 12.2A6.1 6.1 0 0 0 8 1.9M3.8 12.2l8.4-8.4',
  // navigation
  inbox: 'M2 9.5 4 3h8l2 6.5V13H2zM2 9.5h3.5l1 1.8h3l1-1.8H14',
  overview: 'M2 2h5v6H2zM9 2h5v3.5H9zM9 7.5h5V14H9zM2 10h5v4H2z',
  tasks: 'M2.5 4h1M2.5 8h1M2.5 12h1M6 4h7.5M6 8h7.5M6 12h7.5',
  dead: 'M3 9.2a5 5 0 1 1 10 0c0 1.6-1 2.3-2 2.6V14H5v-2.2c-1-.3-2-1-2-2.6M6 8.4v.1M10 8.4v.1M7 14v-1.5M9 14v-1.5',
  queues: 'M2 4h12M2 8h12M2 12h7M12.5 10.5v3.5M11 12.2h3',
  workers: 'M4.5 4.5h7v7h-7zM6.5 1.8v2.7M9.5 1.8v2.7M6.5 11.5v2.7M9.5 11.5v2.7M1.8 6.5h2.7M1.8 9.5h2.7M11.5 6.5h2.7M11.5 9.5h2.7',
  alerts: 'M4 11V7a4 4 0 0 1 8 0v4l1.2 1.5H2.8zM6.6 14.2h2.8',
  costs: 'M8 1.8v12.4M11 4.3C10.4 3.4 9.3 3 8 3 6.300 3 5 3.900 5 5.400c0 3.300 6.200 1.700 6.200 5 0 1.600-1.400 2.600-3.200 2.600-1.500 0-2.800-.6-3.300-1.800',
  settings: 'M2 4.500h7M12.500 4.500H14M2 11.500h1.500M7 11.500h7M9 3v3h3.500V3zM3.500 10v3H7v-3z',
  // things
  search: 'M7 2.200a4.800 4.800 0 1 0 0 9.600 4.800 4.800 0 0 0 0-9.600M10.600 10.600 14 14',
  close: 'M3.500 3.500l9 9M12.500 3.500l-9 9',
  check: 'M3 8.500l3.200 3.200L13 4.500',
  chevron: 'M6 3.500 10.500 8 6 12.500',
  down: 'M3.500 6 8 10.500 12.500 6',
  up: 'M3.500 10 8 5.500 12.500 10',
  copy: 'M5.500 5.500h8v8h-8zM10.500 5.500v-3h-8v8h3',
  more: 'M3 8h.010M8 8h.010M13 8h.010',
  external: 'M6.500 3H3v10h10V9.500M9 2.500h4.500V7M13.500 2.500 7.500 8.500',
  download: 'M8 2v8M4.500 7 8 10.500 11.500 7M2.500 13.500h11',
  stop: 'M5.100 1.800h5.800l3.300 3.300v5.800l-3.300 3.300H5.100l-3.300-3.300V5.100zM5.500 8h5',
  pause: 'M5 3v10M11 3v10',
  play: 'M4.500 2.500v11l9-5.500z',
  retry: 'M13.500 8a5.500 5.500 0 1 1-1.700-4M13.500 1.800V4.500h-2.700',
  edit: 'M2.500 13.500l.8-3 7.700-7.700 2.200 2.200-7.700 7.700zM9.500 4.300l2.200 2.200',
  trash: 'M2.500 4h11M6 4V2.500h4V4M4 4l.6 9.500h6.800L12 4M6.700 6.500v4.500M9.300 6.500v4.500',
  person: 'M8 8.500a3 3 0 1 0 0-6 3 3 0 0 0 0 6M2.500 14c.4-2.700 2.600-4 5.500-4s5.100 1.300 5.500 4',
  gate: 'M2.500 14V3M13.500 14V3M2.500 5h11M2.500 9h11M6 5v9M10 5v9',
  link: 'M6.800 9.200a2.600 2.600 0 0 0 3.700 0l2.300-2.300a2.600 2.600 0 0 0-3.700-3.700l-.9.9M9.200 6.800a2.600 2.600 0 0 0-3.700 0L3.200 9.100a2.600 2.600 0 0 0 3.700 3.700l.9-.9',
  sun: 'M8 5a3 3 0 1 0 0 6 3 3 0 0 0 0-6M8 1v1.500M8 13.500V15M1 8h1.500M13.500 8H15M3 3l1 1M12 12l1 1M13 3l-1 1M4 12l-1 1',
  moon: 'M13.500 9.800A6 6 0 0 1 6.200 2.500a6 6 0 1 0 7.300 7.300',
  system: 'M2 3h12v8H2zM6 14h4M8 11v3',
  menu: 'M2.500 4h11M2.500 8h11M2.500 12h11',
  keyboard: 'M1.500 4h13v8h-13zM4 6.500h.010M6.700 6.500h.010M9.300 6.500h.010M12 6.500h.010M5 9.500h6',
  info: 'M8 1.900a6.100 6.100 0 1 0 0 12.200A6.100 6.100 0 0 0 8 1.900M8 7.300v3.700M8 4.900v.1',
  warning: 'M8 2 1.800 13.200h12.400zM8 6.500v3M8 11.400v.100',
  plus: 'M8 3v10M3 8h10',
  bookmark: 'M4 2.200h8v11.600l-4-3-4 3z',
  filter: 'M2 3.500h12L9.500 8.800v4.700l-3-1.500V8.800z',
  command: 'M3 5.500 6 8l-3 2.500M8 11h5',
  signout: 'M6.500 2.500h-4v11h4M10 5l3 3-3 3M13 8H6',
} as const;

export type IconName = keyof typeof STROKES;

export function Icon({name, size = 16, className = ''}: {name: IconName; size?: number; className?: string}) {
  return (
    <svg class={`icon ${className}`} width={size} height={size} viewBox="0 0 16 16" aria-hidden="true">
      <path d={STROKES[name]} />
    </svg>
  );
}

/** The same for rows that are drawn without components. */
export function iconElement(name: IconName): SVGSVGElement {
  const space = 'http://www.w3.org/2000/svg';
  const svg = document.createElementNS(space, 'svg');
  svg.setAttribute('class', 'icon');
  svg.setAttribute('width', '16');
  svg.setAttribute('height', '16');
  svg.setAttribute('viewBox', '0 0 16 16');
  svg.setAttribute('aria-hidden', 'true');
  const path = document.createElementNS(space, 'path');
  path.setAttribute('d', STROKES[name]);
  svg.append(path);
  return svg;
}
