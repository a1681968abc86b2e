import type { ComponentChildren } from 'preact'

/** What is wider or longer than its place and holds nothing to be focused: scrolled by keys too. */
export function ScrollBox({ label, children }: Readonly<{ label: string; children: ComponentChildren }>) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls is scrolled by keys too
    <section class="matrix" tabIndex={0} aria-label={label}>
      {children}
    </section>
  )
}
