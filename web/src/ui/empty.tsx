import type {ComponentChildren} from 'preact';
import {Command} from './command';
import {Icon, type IconName} from './icons';

/** A page without data says why, and shows the command that fills it. */
export function Empty({icon, title, children, command}:
  {icon: IconName; title: string; children?: ComponentChildren; command?: string}) {
  return (
    <div class="empty">
      <Icon name={icon} size={28} />
      <h2>{title}</h2>
      {children && <p>{children}</p>}
      {command && <Command text={command} />}
    </div>
  );
}

/** Something could not be loaded. What is on the screen stays. */
export function Problem({text, retry}: {text: string; retry?: () => void}) {
  return (
    <div class="problem" role="alert">
      <Icon name="warning" />
      <span class="grow">{text}</span>
      {retry && <button class="button" onClick={retry}>Try again</button>}
    </div>
  );
}

export function Loading({label = 'Loading'}: {label?: string}) {
  return <div class="loading" role="status"><span class="spinner" aria-hidden="true" />{label}…</div>;
}
