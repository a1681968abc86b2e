import type { ComponentChildren } from 'preact'

/** A scrollable box without focusable content: it takes the focus itself, so that keys scroll it. */
export function ScrollBox({ label, children }: Readonly<{ label: string; children: ComponentChildren }>) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable with the keyboard
    <section class="matrix" tabIndex={0} aria-label={label}>
      {children}
    </section>
  )
}
