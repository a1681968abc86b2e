import { statfs } from 'node:fs/promises'

/** Of a disk. */
export type DiskRoom = Readonly<{ freeBytes: number; totalBytes: number }>

/** What users other than root may still fill. */
export async function roomOfDisk(folder: string): Promise<DiskRoom> {
  const { bavail, blocks, bsize } = await statfs(folder)
  return { freeBytes: bavail * bsize, totalBytes: blocks * bsize }
}

/**
 * Passes on bytes that go to a disk while the disk keeps a reserve for the others that write there. Looks at the start and
 * each time that so many bytes have passed; throws what `tooFull` makes.
 */
export async function* keepingReserve(
  bytes: AsyncIterable<Buffer>,
  look: () => Promise<DiskRoom>,
  tooFull: () => Error,
): AsyncGenerator<Buffer> {
  let passed = looksEachBytes
  for await (const chunk of bytes) {
    passed += chunk.length
    if (passed >= looksEachBytes) {
      const { freeBytes, totalBytes } = await look()
      if (freeBytes - chunk.length < Math.min(mostReserveBytes, totalBytes / 20)) throw tooFull()
      passed = 0
    }
    yield chunk
  }
}

const looksEachBytes = 64 * 1024 ** 2
const mostReserveBytes = 1024 ** 3
