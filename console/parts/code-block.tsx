import { copyText } from './controls/copy-button.tsx'

/** Text to copy, such as a shell command. */
export function CodeBlock({ label, text }: Readonly<{ label: string; text: string }>) {
  return (
    <div class="code-block">
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable with the keyboard */}
      <section tabIndex={0} aria-label={label}>
        <pre>{text}</pre>
      </section>
      <button type="button" aria-label={`Copy: ${label}`} onClick={() => copyText(text, 'Copied')}>
        Copy
      </button>
    </div>
  )
}
