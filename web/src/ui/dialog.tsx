import {signal} from '@preact/signals';
import type {ComponentChildren} from 'preact';
import {useEffect, useRef} from 'preact/hooks';
import {Icon} from './icons';

// One dialog at a time; the browser's own <dialog> traps the focus and closes on Escape.
const current = signal<(() => ComponentChildren) | null>(null);

export function showDialog(draw: () => ComponentChildren): void {
  current.value = draw;
}

export function closeDialog(): void {
  current.value = null;
}

export function DialogHost() {
  const draw = current.value;
  return draw ? <>{draw()}</> : null;
}

export interface DialogProps {
  title: string;
  children: ComponentChildren;
  /** Buttons at the bottom, the main one last. */
  actions?: ComponentChildren;
  size?: 'small' | 'normal' | 'large';
  onClose?: () => void;
}

export function Dialog({title, children, actions, size = 'normal', onClose = closeDialog}: DialogProps) {
  const element = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const dialog = element.current!;
    const before = document.activeElement as HTMLElement | null;
    dialog.showModal();
    return () => {
      dialog.close();
      before?.focus?.();
    };
  }, []);
  return (
    <dialog ref={element} class={`dialog ${size}`} aria-labelledby="dialog-title"
      onCancel={event => { event.preventDefault(); onClose(); }}
      onMouseDown={event => { if (event.target === element.current) onClose(); }}>
      <div class="dialog-body">
        <header>
          <h2 id="dialog-title">{title}</h2>
          <button class="icon-button" aria-label="Close" onClick={onClose}><Icon name="close" /></button>
        </header>
        <div class="dialog-content">{children}</div>
        {actions && <footer>{actions}</footer>}
      </div>
    </dialog>
  );
}
