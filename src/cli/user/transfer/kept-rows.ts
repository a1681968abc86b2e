import { createReadStream, createWriteStream } from 'node:fs'
import { mkdtemp, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { PartialFile } from '../../../client/api/uploads-api.ts'
import type { Progress } from '../../../client/http/transport.ts'
import { formatBytes } from '../../../contract/text/format.ts'
import type { Terminal } from '../../terminal.ts'

/** A file of which any part can be sent, also a second time. */
export const partsOf = (path: string, size: number): PartialFile => ({
  size,
  slice: (start, end) => (start < end ? createReadStream(path, { start, end: end - 1 }) : ''),
})

/** Writes rows to a temporary file as they are sent, so that a cut upload can go on where it was. */
export async function keepRows(
  rows: Readable,
): Promise<PartialFile & Readonly<{ remove: () => Promise<void> }>> {
  const folder = await mkdtemp(join(tmpdir(), 'cartage-import-'))
  const remove = () => rm(folder, { recursive: true, force: true })
  const path = join(folder, 'rows')
  try {
    await pipeline(rows, createWriteStream(path, { mode: 0o600 }))
    return { ...partsOf(path, (await stat(path)).size), remove }
  } catch (error) {
    await remove()
    throw error
  }
}

export const tellCut =
  (terminal: Terminal) =>
  ({ bytes, total }: Required<Progress>): void =>
    terminal.say(
      `the connection was cut: ${formatBytes(total - bytes)} of ${formatBytes(total)} are left, going on`,
    )
