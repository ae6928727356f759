import type {ComponentChildren} from 'preact';
import {useEffect, useRef, useState} from 'preact/hooks';
import {Icon} from './icons';

/** A button with a panel below it; closes on Escape, on a click outside, and when focus leaves. */
export function Menu({label, title, className = 'button', children, align = 'start'}:
  {label: ComponentChildren; title?: string; className?: string; children: (close: () => void) => ComponentChildren; align?: 'start' | 'end'}) {
  const [isOpen, setOpen] = useState(false);
  const holder = useRef<HTMLDivElement>(null);
  const close = () => setOpen(false);
  useEffect(() => {
    if (!isOpen) return;
    const outside = (event: Event) => {
      if (!holder.current?.contains(event.target as Node)) close();
    };
    document.addEventListener('pointerdown', outside);
    document.addEventListener('focusin', outside);
    return () => {
      document.removeEventListener('pointerdown', outside);
      document.removeEventListener('focusin', outside);
    };
  }, [isOpen]);
  return (
    <div class="menu" ref={holder} onKeyDown={event => {
      if (event.key !== 'Escape' || !isOpen) return;
      event.stopPropagation();
      close();
      holder.current?.querySelector('button')?.focus();
    }}>
      <button type="button" class={className} aria-haspopup="true" aria-expanded={isOpen} title={title} aria-label={title} onClick={() => setOpen(!isOpen)}>
        {label}<Icon name="down" size={12} />
      </button>
      {isOpen && <div class={`menu-panel ${align}`}>{children(close)}</div>}
    </div>
  );
}
