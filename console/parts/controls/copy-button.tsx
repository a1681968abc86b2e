import { toast } from '../toast.tsx'

export function CopyButton({
  text,
  label = 'Copy',
}: Readonly<{ text: string | (() => string); label?: string }>) {
  const copy = () => copyText(typeof text === 'function' ? text() : text, 'Copied')
  return (
    <button type="button" onClick={copy}>
      {label}
    </button>
  )
}

/** Copies to the clipboard and shows a toast: `done`, or that the browser refused. */
export async function copyText(text: string, done: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text)
    toast(done)
  } catch {
    // Without HTTPS there is no navigator.clipboard, but execCommand still works.
    toast(copyBySelection(text) ? done : 'The browser does not allow copying here')
  }
}

function copyBySelection(text: string): boolean {
  const area = document.createElement('textarea')
  area.value = text
  document.body.append(area)
  area.select()
  const isCopied = document.execCommand('copy')
  area.remove()
  return isCopied
}
