import { toast } from './toast.tsx'

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

/** Into the clipboard, with a word that it was done, or why not. */
export async function copyText(text: string, done: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text)
    toast(done)
  } catch {
    // Without HTTPS a browser has no such interface, but still this old one.
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
