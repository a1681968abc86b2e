import { useState } from 'preact/hooks'
import { formatCount } from '../../parts/format.ts'

/** In parts, because a browser is slow to lay out many megabytes of text at once. */
export function LongText({ text }: Readonly<{ text: string }>) {
  const [shown, setShown] = useState(1)
  const rest = text.length - shown * partLength
  return (
    <>
      {Array.from({ length: shown }, (_, part) => (
        <pre key={part} class="text-part">
          {text.slice(part * partLength, (part + 1) * partLength)}
        </pre>
      ))}
      {rest > 0 && (
        <p class="row">
          <button type="button" onClick={() => setShown(shown + 1)}>
            Show {formatCount(Math.min(rest, partLength))} more
          </button>
          <span class="muted">{formatCount(rest)} more characters. Copy and Save include all.</span>
        </p>
      )}
    </>
  )
}

const partLength = 100_000
