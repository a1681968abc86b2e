import { nextTurn } from '../waiting/next-turn.ts'

/** What is sent of a text: itself, or of a long one its bytes, a piece of which is made in each turn of the event loop. */
export function encodeText(text: string): string | Promise<Buffer> {
  return text.length <= longLength ? text : encodeInSteps(text)
}

async function encodeInSteps(text: string): Promise<Buffer> {
  const pieces: Buffer[] = []
  for (let start = 0; start < text.length; ) {
    await nextTurn()
    const end = start + longLength
    // Not between the halves of a character.
    const isSplit = (text.charCodeAt(end) & 0xfc00) === 0xdc00
    pieces.push(Buffer.from(text.slice(start, isSplit ? end - 1 : end)))
    start = isSplit ? end - 1 : end
  }
  await nextTurn()
  return Buffer.concat(pieces)
}

const longLength = 1024 ** 2
