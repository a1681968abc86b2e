import type { Socket } from 'node:net'

/** Messages of the simple protocol, one for each text, in one buffer. */
export function queryMessages(texts: readonly string[]): Buffer {
  const bytes = Buffer.allocUnsafe(texts.reduce((sum, text) => sum + overhead + Buffer.byteLength(text), 0))
  let at = 0
  for (const text of texts) {
    const length = bytes.write(text, at + headerLength)
    bytes[at] = letterQ
    bytes.writeInt32BE(length + overhead - 1, at + 1)
    at += headerLength + length
    bytes[at++] = 0
  }
  return bytes
}

/** The same for one long text, whose bytes are not copied. */
export function queryMessage(text: Buffer): readonly Buffer[] {
  const header = Buffer.alloc(headerLength)
  header[0] = letterQ
  header.writeInt32BE(text.length + overhead - 1, 1)
  return [header, text, Buffer.alloc(1)]
}

export function sendLong(socket: Socket, parts: readonly Buffer[]): void {
  socket.cork()
  for (const part of parts) socket.write(part)
  socket.uncork()
}

const letterQ = 0x51
const headerLength = 5
/** The header before a text, and the zero byte after it. */
const overhead = headerLength + 1
