import {signal} from '@preact/signals';
import {useEffect} from 'preact/hooks';
import {me, may, signOut} from '../api/session';
import {openKeyHelp} from '../keys/help';
import {compact} from '../lib/format';
import {theme, timeZone} from '../lib/settings';
import {pages, type Page} from '../pages';
import {here, href} from '../router';
import {Icon, type IconName} from '../ui/icons';
import {serverName} from './identity';

export const isDrawerOpen = signal(false);

const entries = (): Page[] => pages.filter(page => page.nav && (!page.needs || may(page.needs)));

const isHere = (page: Page): boolean =>
  here.value.path === page.path || (page.path !== '/' && here.value.path.startsWith(page.path + '/'));

function Entry({page}: {page: Page}) {
  const {label, icon, badge} = page.nav!;
  const number = badge?.value ?? 0;
  return (
    <a class={`nav-entry ${isHere(page) ? 'here' : ''}`} href={href(page.path)} aria-current={isHere(page) ? 'page' : undefined}>
      <Icon name={icon} />
      <span class="grow">{label}</span>
      {number > 0 && <span class="badge" aria-label={`${number} waiting`}>{compact(number)}</span>}
    </a>
  );
}

const THEMES: {value: 'system' | 'light' | 'dark'; icon: IconName; label: string}[] = [
  {value: 'system', icon: 'system', label: 'Colours of the system'},
  {value: 'light', icon: 'sun', label: 'Light'},
  {value: 'dark', icon: 'moon', label: 'Dark'},
];

function ThemeSwitch() {
  return (
    <div class="segmented" role="group" aria-label="Theme">
      {THEMES.map(({value, icon, label}) => (
        <button key={value} aria-pressed={theme.value === value} title={label} aria-label={label} onClick={() => (theme.value = value)}>
          <Icon name={icon} />
        </button>
      ))}
    </div>
  );
}

function Account() {
  const who = me.value;
  if (!who) return null;
  return (
    <div class="account">
      <div class="account-row">
        <ThemeSwitch />
        <button class="icon-button" title={timeZone.value === 'utc' ? 'Times are in UTC' : 'Times are local'}
          aria-label={timeZone.value === 'utc' ? 'UTC; show local times' : 'local; show times in UTC'}
          onClick={() => (timeZone.value = timeZone.value === 'utc' ? 'local' : 'utc')}>
          <span class="zone">{timeZone.value === 'utc' ? 'UTC' : 'local'}</span>
        </button>
        <button class="icon-button" title="Keys (?)" aria-label="Keys" onClick={openKeyHelp}><Icon name="keyboard" /></button>
      </div>
      <div class="account-row who">
        <Icon name="person" />
        <span class="grow clip" title={`token ${who.token_id}`}>{who.role}{who.owner ? ` · ${who.owner}` : ''}</span>
        {who.signin_id && <button class="icon-button" title="Sign out" aria-label="Sign out" onClick={() => void signOut()}><Icon name="signout" /></button>}
      </div>
      <div class="faint version">drover {who.server.version}</div>
    </div>
  );
}

export function Navigation() {
  const path = here.value.path;
  useEffect(() => void (isDrawerOpen.value = false), [path]);
  return (
    <>
      {isDrawerOpen.value && <div class="scrim" onClick={() => (isDrawerOpen.value = false)} />}
      <nav class={`navigation ${isDrawerOpen.value ? 'open' : ''}`} aria-label="Pages"
        onKeyDown={event => event.key === 'Escape' && (isDrawerOpen.value = false)}>
        <div class="server-name" title={serverName()}>
          <span class="server-swatch" aria-hidden="true" />
          <span class="clip">{serverName()}</span>
        </div>
        <div class="nav-entries">{entries().map(page => <Entry key={page.path} page={page} />)}</div>
        <Account />
      </nav>
    </>
  );
}

/** At the bottom of narrow screens: the first pages, and the rest behind "More". */
export function TabBar() {
  const shown = entries().slice(0, 4);
  return (
    <nav class="tabbar" aria-label="Main pages">
      {shown.map(page => (
        <a key={page.path} href={href(page.path)} class={isHere(page) ? 'here' : ''} aria-current={isHere(page) ? 'page' : undefined}>
          <span class="tab-icon"><Icon name={page.nav!.icon} size={20} />{(page.nav!.badge?.value ?? 0) > 0 && <span class="dot" />}</span>
          <span>{page.nav!.label}</span>
        </a>
      ))}
      <button onClick={() => (isDrawerOpen.value = true)}><span class="tab-icon"><Icon name="more" size={20} /></span><span>More</span></button>
    </nav>
  );
}
