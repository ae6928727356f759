// Which server this is: name and colour in the page, the title and the icon, so that production is never taken for a test.
import {signal} from '@preact/signals';
import {useEffect} from 'preact/hooks';
import {me} from '../api/session';
import colours from '../lib/server_colours.json';

type Colour = keyof typeof colours;

/** A page may put something more precise into the title, such as a task's type. */
export const pageTitle = signal('');

export const serverName = (): string => me.value?.server.name ?? location.host;
export const serverColour = (): Colour => (me.value?.server.colour as Colour | null) ?? 'grey';

export function Identity({title}: {title: string}) {
  const colour = serverColour();
  const text = `${pageTitle.value || title} · ${serverName()}`;
  useEffect(() => void (document.title = text), [text]);
  useEffect(() => {
    document.documentElement.style.setProperty('--server', colours[colour]);
    const icon = document.querySelector<HTMLMetaElement>(`meta[name="drover-icon-${colour}"]`);
    const link = document.querySelector<HTMLLinkElement>('link[rel="icon"]');
    if (icon && link) link.href = icon.content;
  }, [colour]);
  return <div class="server-stripe" aria-hidden="true" />;
}

/** For pages: `useTitle('eng-backend 3f2a9c41')`. */
export function useTitle(text: string): void {
  useEffect(() => {
    pageTitle.value = text;
    return () => void (pageTitle.value = '');
  }, [text]);
}
