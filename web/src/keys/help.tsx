import {signal} from '@preact/signals';
import {singleKeys} from '../lib/settings';
import {Dialog} from '../ui/dialog';
import {boundKeys} from './keyboard';

const isOpen = signal(false);
export const openKeyHelp = (): void => void (isOpen.value = true);

export function KeyHelp() {
  if (!isOpen.value) return null;
  const close = () => (isOpen.value = false);
  return (
    <Dialog title="Keys" onClose={close}>
      <div class="key-help">
        {[...boundKeys.value].map(([group, bindings]) => (
          <section key={group}>
            <h3>{group}</h3>
            <dl>
              {bindings.map(({keys, label}) => (
                <div key={keys}>
                  <dt>{keys.split(' ').map(key => <kbd key={key}>{key}</kbd>)}</dt>
                  <dd>{label}</dd>
                </div>
              ))}
            </dl>
          </section>
        ))}
      </div>
      <label class="check">
        <input type="checkbox" checked={singleKeys.value === 'on'} onChange={event => (singleKeys.value = event.currentTarget.checked ? 'on' : 'off')} />
        Single keys (those with Ctrl always work)
      </label>
    </Dialog>
  );
}
