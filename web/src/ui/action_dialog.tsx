import type {ComponentChildren} from 'preact';
import {useState} from 'preact/hooks';
import {describe} from '../api/client';
import {canAct} from '../live/live';
import {Command} from './command';
import {closeDialog, Dialog} from './dialog';
import {Problem} from './empty';
import {toast} from './toast';

export interface ActionProps {
  title: string;
  /** What it does, in a sentence or two. */
  children?: ComponentChildren;
  /** The same as a command; changes with what is typed. */
  command: (reason: string) => string;
  run: (reason: string) => Promise<string | void>;
  label: string;
  danger?: boolean;
  /** Whether to ask for a reason, which the server keeps. */
  reason?: 'none' | 'optional';
  isReady?: boolean;
  size?: 'small' | 'normal' | 'large';
}

/** The one dialog for "do this": what it does, why, its command, and what the server answered. `run` returns what to say then. */
export function ActionDialog({title, children, command, run, label, danger = false, reason = 'optional', isReady = true, size = 'normal'}: ActionProps) {
  const [why, setWhy] = useState('');
  const [isBusy, setBusy] = useState(false);
  const [problem, setProblem] = useState('');
  const submit = async (event: SubmitEvent) => {
    event.preventDefault();
    if (isBusy || !isReady || !canAct.peek()) return;
    setBusy(true);
    setProblem('');
    try {
      const said = await run(why.trim());
      closeDialog();
      if (said) toast('done', said);
    } catch (error) {
      setProblem(describe(error));
      setBusy(false);
    }
  };
  return (
    <Dialog title={title} size={size}
      actions={<>
        <button class="button" type="button" onClick={closeDialog}>Back</button>
        <button class={`button ${danger ? 'danger' : 'primary'}`} type="submit" form="action-form" disabled={isBusy || !isReady || !canAct.value}>
          {isBusy ? 'Working…' : label}
        </button>
      </>}>
      <form id="action-form" onSubmit={submit} class="stack">
        {children}
        {reason === 'optional' && (
          <label class="field">
            <span>Reason <span class="faint">(kept with the record)</span></span>
            <input type="text" value={why} maxLength={500} autoFocus onInput={event => setWhy(event.currentTarget.value)} />
          </label>
        )}
        {!canAct.value && <Problem text="The server cannot be reached, so nothing can be changed now." />}
        {problem && <Problem text={problem} />}
        <Command text={command(why.trim())} />
      </form>
    </Dialog>
  );
}
