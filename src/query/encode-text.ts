import { nextTurn } from '../waiting/next-turn.ts'

/** The text, or for a long one its bytes, encoded piece by piece over several turns of the event loop. */
export function encodeText(text: string): string | Promise<Buffer> {
  return text.length <= longLength ? text : encodeInSteps(text)
}

async function encodeInSteps(text: string): Promise<Buffer> {
  const pieces: Buffer[] = []
  for (let start = 0; start < text.length; ) {
    await nextTurn()
    const end = start + longLength
    // Do not split a surrogate pair.
    const isSplit = (text.charCodeAt(end) & 0xfc00) === 0xdc00
    pieces.push(Buffer.from(text.slice(start, isSplit ? end - 1 : end)))
    start = isSplit ? end - 1 : end
  }
  await nextTurn()
  return Buffer.concat(pieces)
}

const longLength = 1024 ** 2
