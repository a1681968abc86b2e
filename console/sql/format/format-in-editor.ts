import workerName from 'worker:./format-worker.ts'
import type { StatementRange } from '../../../src/sql-text/statements.ts'
import { assetAddress } from '../../parts/browser/address.ts'
import { formatCount } from '../../parts/format.ts'
import { toast } from '../../parts/toast.tsx'
import type { EditorHandle } from '../editor/editor.tsx'

const mostCharacters = 100_000

let isFormatting = false

/** Formats the selection, or the statement at the cursor. One undo takes it back. */
export async function formatInEditor(editor: Readonly<{ current: EditorHandle | undefined }>): Promise<void> {
  const handle = editor.current
  const range = handle?.current()
  if (!handle || !range || isFormatting) return
  if (range.text.length > mostCharacters)
    return toast(`Only up to ${formatCount(mostCharacters)} characters are formatted: select a part`)
  isFormatting = true
  try {
    take(editor, handle, range, await formatInWorker(range.text))
  } catch {
    toast('The formatter could not be loaded')
  } finally {
    isFormatting = false
  }
}

function take(
  editor: Readonly<{ current: EditorHandle | undefined }>,
  handle: EditorHandle,
  range: StatementRange,
  formatted: string | null,
): void {
  if (formatted === null)
    toast('Not formatted: a statement is incomplete, or has syntax that the formatter does not know')
  else if (formatted === range.text) toast('Nothing to format')
  // Another draft may be shown by now.
  else if (editor.current !== handle || !handle.replace(range, formatted))
    toast('Not formatted: the text has changed meanwhile')
}

function formatInWorker(text: string): Promise<string | null> {
  const worker = new Worker(assetAddress(workerName), { type: 'module', name: 'format' })
  return new Promise<string | null>((resolve, reject) => {
    worker.onmessage = ({ data }: MessageEvent<string | null>) => resolve(data)
    worker.onerror = reject
    worker.postMessage(text)
  }).finally(() => worker.terminate())
}
