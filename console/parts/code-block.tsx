import { copyText } from './copy-button.tsx'

/** Text for another program, to be read here and copied whole. */
export function CodeBlock({ label, text }: Readonly<{ label: string; text: string }>) {
  return (
    <div class="code-block">
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls is scrolled by keys too */}
      <section tabIndex={0} aria-label={label}>
        <pre>{text}</pre>
      </section>
      <button type="button" aria-label={`Copy: ${label}`} onClick={() => copyText(text, 'Copied')}>
        Copy
      </button>
    </div>
  )
}
