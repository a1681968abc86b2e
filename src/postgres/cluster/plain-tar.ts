import { ClusterError } from './cluster-error.ts'

const block = 512

/**
 * Passes on a tar that contains only plain files and folders, each with a path inside the target folder. Any other
 * entry, above all a link, is an error before its header is passed on.
 */
export async function* plainTar(tar: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let rest: Buffer = Buffer.alloc(0)
  /** Bytes left of the current entry. */
  let contentBytes = 0
  let isOver = false
  for await (const chunk of tar) {
    let bytes: Buffer = rest.length > 0 ? Buffer.concat([rest, chunk]) : chunk
    while (bytes.length > 0) {
      if (isOver) contentBytes = bytes.length
      if (contentBytes === 0) {
        if (bytes.length < block) break
        const size = sizeOfEntry(bytes.subarray(0, block))
        isOver = size === undefined
        contentBytes = block + Math.ceil((size ?? 0) / block) * block
      }
      const passing = Math.min(contentBytes, bytes.length)
      yield bytes.subarray(0, passing)
      contentBytes -= passing
      bytes = bytes.subarray(passing)
    }
    rest = bytes
  }
  // The rest is shorter than a header; tar ignores it too.
  if (rest.length > 0) yield rest
}

/** Length of the content after a header; undefined at the end of the archive. */
function sizeOfEntry(header: Buffer): number | undefined {
  if (header.every((byte) => byte === 0)) return undefined
  const name = [textIn(header, 345, 155), textIn(header, 0, 100)].filter(Boolean).join('/')
  // tar would skip such a header, and take the content that follows for entries.
  if (numberIn(header.subarray(148, 156)) !== sumOf(header)) throw refused(name, 'has a broken header')
  const type = String.fromCharCode(header[156]!)
  if (type !== '0' && type !== '\0' && type !== '5')
    throw refused(name, `is ${kinds[type] ?? 'of an unknown kind'}`)
  if (name.startsWith('/') || name.split('/').includes('..'))
    throw refused(name, 'has a path outside the backup')
  if (numberIn(header.subarray(100, 108)) & 0o7000) throw refused(name, 'has special permissions')
  const size = numberIn(header.subarray(124, 136))
  if (!Number.isSafeInteger(size) || (type === '5' && size > 0)) throw refused(name, 'has a wrong length')
  return size
}

/** The checksum field itself counts as blanks. */
const sumOf = (header: Buffer) =>
  header.reduce((sum, byte, place) => sum + (place >= 148 && place < 156 ? 0x20 : byte), 0)

const kinds: Readonly<Record<string, string>> = { 1: 'a hard link', 2: 'a symbolic link' }

const refused = (name: string, what: string) =>
  new ClusterError(
    `the backup is damaged, or not from Cartage: its entry ${JSON.stringify(name)} ${what}; a backup has only plain files and folders`,
  )

const textIn = (header: Buffer, start: number, length: number) =>
  header.toString('utf8', start, start + length).replace(/\0.*$/s, '')

/** Octal digits; above 8 GiB, big-endian after a first byte of 0x80. NaN for anything else. */
function numberIn(field: Buffer): number {
  if (field[0] === 0x80) return Number(BigInt(`0x${field.toString('hex', 1)}`))
  const digits = textIn(field, 0, field.length).trim()
  return /^[0-7]*$/.test(digits) ? Number.parseInt(digits || '0', 8) : Number.NaN
}
