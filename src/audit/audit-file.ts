import { type FileHandle, open } from 'node:fs/promises'
import type { Destination } from './audit-shipper.ts'

/**
 * A file with one line of JSON per record, for a program that ships them. It is opened for each batch, so a file that
 * was moved away is made again.
 */
export function auditFile(path: string): Destination {
  return {
    sink: 'file',
    address: path,
    send: (records) => append(path, records.map((record) => `${JSON.stringify(record)}\n`).join('')),
  }
}

async function append(path: string, lines: string): Promise<void> {
  const file = await open(path, 'a+', 0o600)
  try {
    const found = await file.stat()
    // A full pipe would hold us.
    if (!found.isFile()) throw new Error(`${path} is not a regular file`)
    await file.appendFile((await isCut(file, found.size)) ? `\n${lines}` : lines)
    await file.datasync()
  } finally {
    await file.close()
  }
}

/** A full disk, or the end of the machine, may have cut the last line short. */
async function isCut(file: FileHandle, size: number): Promise<boolean> {
  if (size === 0) return false
  const { buffer } = await file.read({ buffer: Buffer.alloc(1), position: size - 1 })
  return buffer.toString() !== '\n'
}
