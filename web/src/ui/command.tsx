import {useState} from 'preact/hooks';
import {Icon} from './icons';
import {toast} from './toast';

export async function copyText(text: string, what = 'Copied'): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
    toast('done', what);
  } catch {
    toast('problem', 'The browser does not allow copying here. Select the text and copy it by hand.');
  }
}

/** The same action for the terminal. Every dialog that does something shows it. */
export function Command({text}: {text: string}) {
  const [isCopied, setCopied] = useState(false);
  const copy = async () => {
    await copyText(text, 'Command copied');
    setCopied(true);
    setTimeout(() => setCopied(false), 1500);
  };
  return (
    <div class="command">
      <span class="prompt" aria-hidden="true">$</span>
      <code>{text}</code>
      <button class="icon-button" aria-label="Copy the command" title="Copy the command" onClick={copy}>
        <Icon name={isCopied ? 'check' : 'copy'} />
      </button>
    </div>
  );
}

/** A short text to copy, such as an id. */
export function Copyable({text, shown = text}: {text: string; shown?: string}) {
  return (
    <button class="copyable" title={`Copy ${text}`} onClick={() => copyText(text)}>
      <span class="mono">{shown}</span>
      <Icon name="copy" size={12} />
    </button>
  );
}
