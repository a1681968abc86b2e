/** The five bytes before a piece of COPY data. */
export function copyDataHeader(length: number): Buffer {
  const header = Buffer.allocUnsafe(5)
  header[0] = 0x64
  header.writeInt32BE(length + 4, 1)
  return header
}

export const copyDone = Buffer.from([0x63, 0, 0, 0, 4])

/** Ends a COPY ... FROM STDIN; nothing is stored. */
export function copyFail(reason: string): Buffer {
  const text = Buffer.from(`${reason.replaceAll('\0', '')}\0`)
  const header = Buffer.alloc(5)
  header[0] = 0x66
  header.writeInt32BE(text.length + 4, 1)
  return Buffer.concat([header, text])
}
