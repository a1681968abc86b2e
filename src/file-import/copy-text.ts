/** What a value in the text format of COPY means: `\t` is a tab, `\\` a backslash. */
export function unescaped(bytes: Uint8Array): Uint8Array {
  if (!bytes.includes(BACKSLASH)) return bytes
  const meant = new Uint8Array(bytes.length)
  let length = 0
  for (let at = 0; at < bytes.length; at++) {
    const isEscape = bytes[at] === BACKSLASH && at + 1 < bytes.length
    const byte = isEscape ? bytes[++at]! : bytes[at]!
    meant[length++] = isEscape ? (letters.get(byte) ?? byte) : byte
  }
  return meant.subarray(0, length)
}

const BACKSLASH = 92

const letters: ReadonlyMap<number, number> = new Map([
  [98, 8],
  [116, 9],
  [110, 10],
  [118, 11],
  [102, 12],
  [114, 13],
])
