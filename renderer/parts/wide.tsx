/** A table that is wider than a small screen. */
import type { ReactNode } from 'react';

/** Its box. The keyboard scrolls it sideways, too. */
export function Wide({ label, className = '', children }: { label: string; className?: string; children: ReactNode }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: the keyboard scrolls it
    <section className={`table-box ${className}`} tabIndex={0} aria-label={label}>
      {children}
    </section>
  );
}
