import type {ComponentChildren} from 'preact';
import {useState} from 'preact/hooks';
import {call, describe} from '../../api/client';
import {me} from '../../api/session';
import {useResource} from '../../live/resource';
import {href} from '../../router';
import {closeDialog, Dialog, showDialog} from '../../ui/dialog';
import {Problem} from '../../ui/empty';
import {Icon} from '../../ui/icons';
import {Menu} from '../../ui/menu';
import {toast} from '../../ui/toast';

interface BuiltIn {
  name: string;
  q: string;
}

function builtIn(): BuiltIn[] {
  const owner = me.value?.owner;
  return [
    {name: 'All', q: ''},
    {name: 'Running', q: 'state:running'},
    {name: 'Stuck', q: 'state:pending,stalled order:oldest'},
    {name: 'Running long', q: 'state:running order:oldest'},
    {name: 'Failed', q: 'state:failed'},
    ...(owner ? [{name: 'Mine', q: `owner:${owner}`}] : []),
  ];
}

function SaveView({query, done}: {query: string; done: () => void}) {
  const [name, setName] = useState('');
  const [problem, setProblem] = useState('');
  const save = async (event: SubmitEvent) => {
    event.preventDefault();
    try {
      await call('PUT /v1/views/{name}', {path: {name: name.trim()}, body: {query}});
      closeDialog();
      toast('done', `Saved the view “${name.trim()}”`);
      done();
    } catch (error) {
      setProblem(describe(error));
    }
  };
  return (
    <Dialog title="Save this view" size="small" actions={<>
      <button class="button" onClick={closeDialog}>Back</button>
      <button class="button primary" type="submit" form="save-view" disabled={name.trim() === ''}>Save</button>
    </>}>
      <form id="save-view" class="stack" onSubmit={save}>
        <p>The server keeps it for everybody with your owner. A view of the same name is replaced.</p>
        <label class="field"><span>Name</span><input type="text" maxLength={64} autoFocus value={name} onInput={event => setName(event.currentTarget.value)} /></label>
        <code>{query || 'all tasks'}</code>
        {problem && <Problem text={problem} />}
      </form>
    </Dialog>
  );
}

/** The query of a saved view is the part of the address after `q=`. */
export function Views({q, children}: {q: string; children: ComponentChildren}) {
  const saved = useResource('views', abort => call('GET /v1/views', {signal: abort}));
  const views = saved.data.value?.views ?? [];
  const remove = async (name: string) => {
    try {
      await call('DELETE /v1/views/{name}', {path: {name}});
      saved.reload();
    } catch (error) {
      toast('problem', describe(error));
    }
  };
  return (
    <div class="views">
      <div class="view-tabs" role="group" aria-label="Views">
        {builtIn().map(view => (
          <a key={view.name} class="view-tab" aria-current={view.q === q ? 'true' : undefined} href={href('/tasks', {q: view.q})}>{view.name}</a>
        ))}
        {views.map(view => (
          <a key={`s${view.name}`} class="view-tab" aria-current={view.query === q ? 'true' : undefined} href={href('/tasks', {q: view.query})}>
            <Icon name="bookmark" size={12} />{view.name}
          </a>
        ))}
      </div>
      {children}
      <Menu className="icon-button" title="Views" align="end" label={<Icon name="bookmark" />}>
        {close => <>
          <button class="menu-item" onClick={() => { close(); showDialog(() => <SaveView query={q} done={saved.reload} />); }}><Icon name="plus" />Save this view…</button>
          {views.map(view => (
            <button key={view.name} class="menu-item danger" onClick={() => { close(); void remove(view.name); }}><Icon name="trash" />Delete “{view.name}”</button>
          ))}
        </>}
      </Menu>
    </div>
  );
}
