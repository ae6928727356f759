import {useEffect} from 'preact/hooks';
import {me, may} from '../api/session';
import {KeyHelp, openKeyHelp} from '../keys/help';
import {useKeys} from '../keys/keyboard';
import {openPalette, Palette} from '../keys/palette';
import {isFrozen, setFrozen} from '../live/live';
import {pages, type Page} from '../pages';
import {go, here, href, match} from '../router';
import {DialogHost} from '../ui/dialog';
import {Empty} from '../ui/empty';
import {Icon} from '../ui/icons';
import {Toasts} from '../ui/toast';
import {isDrawerOpen, Navigation, TabBar} from './navigation';
import {Identity} from './identity';
import {LiveDot} from './live_dot';
import {ProviderChips} from './provider_chips';
import {StopButton} from './stop';

export const visiblePages = (): Page[] => pages.filter(page => !page.needs || may(page.needs));

export function currentPage(): {page: Page; params: Record<string, string>} | null {
  for (const page of visiblePages()) {
    const params = match(page.path, here.value.path);
    if (params) return {page, params};
  }
  return null;
}

function NoPage() {
  const first = visiblePages().find(page => page.nav);
  return (
    <Empty icon="info" title="There is no such page">
      {first ? <>Go to <a href={href(first.path)}>{first.title}</a>, or press <kbd>Ctrl</kbd> <kbd>K</kbd>.</> : 'Your role shows no pages here.'}
    </Empty>
  );
}

function useFrameKeys(): void {
  const places = visiblePages().filter(page => page.nav).map(page => ({
    keys: `g ${page.nav!.key}`, label: page.nav!.label, run: () => go(href(page.path)),
  }));
  useKeys('Everywhere', [
    {keys: 'Ctrl+k', label: 'Go to a page, a task or an action', run: openPalette, isGlobal: true},
    {keys: '?', label: 'Show the keys', run: openKeyHelp},
    {keys: '.', label: 'Freeze what is shown, or go on', run: () => setFrozen(!isFrozen.peek())},
    ...places,
  ]);
}

// A path without a page of its own: the first one that is in the navigation.
function useHome(): void {
  const path = here.value.path;
  useEffect(() => {
    if (path !== '/' || pages.some(page => page.path === '/')) return;
    const first = visiblePages().find(page => page.nav);
    if (first) go(href(first.path), 'replace');
  }, [path]);
}

export function Frame() {
  useFrameKeys();
  useHome();
  const shown = currentPage();
  const Component = shown?.page.component ?? NoPage;
  return (
    <div class="frame">
      <a class="skip" href="#main" onClick={event => { event.preventDefault(); document.getElementById('main')?.focus(); }}>Skip to the content</a>
      <Identity title={shown?.page.title ?? 'Not found'} />
      <Navigation />
      <div class="main-column">
        <header class="topbar">
          <button class="icon-button only-narrow" aria-label="Menu" onClick={() => (isDrawerOpen.value = true)}><Icon name="menu" /></button>
          <span class="topbar-server only-narrow">{me.value?.server.name ?? location.host}</span>
          <ProviderChips />
          <span class="grow" />
          <LiveDot />
          <button class="search-button" onClick={openPalette} title="Search">
            <Icon name="search" /><span class="search-words">Search</span><kbd class="search-words">Ctrl K</kbd>
          </button>
          <StopButton />
        </header>
        <main id="main" tabIndex={-1}>
          <Component key={shown?.page.path ?? ''} params={shown?.params ?? {}} />
        </main>
      </div>
      <TabBar />
      <Toasts />
      <DialogHost />
      <Palette />
      <KeyHelp />
    </div>
  );
}
