/** What came from elsewhere must not steer a terminal, nor turn the order of what it shows. A line end stays. */
export const printable = (text: string) => visible(text).replaceAll('\t', '  ')

/** The same of data, whose tabs and line ends are left as they are, also those with a carriage return. */
export const visible = (text: string) =>
  text.replace(steering, (character) => {
    const code = character.charCodeAt(0)
    return code < 0x100
      ? `\\x${code.toString(16).padStart(2, '0')}`
      : `\\u${code.toString(16).padStart(4, '0')}`
  })

/** Can be shown and typed as it is, in one line. */
export const isPlainLine = (text: string) => !/[\t\r\n]/.test(text) && visible(text) === text

/** A word of a line that a person may copy into a shell. */
export const shellWord = (text: string) =>
  /^[\w@%+:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`

/** C0 and C1, marks of direction, and the two line ends that only some programs know. */
const steering =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for.
  /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]|\r(?!\n)/g

/** Data on its way to a terminal. */
export async function* visibleTexts(chunks: AsyncIterable<Uint8Array | string>): AsyncGenerator<string> {
  const decoder = new TextDecoder()
  let held = ''
  for await (const chunk of chunks) {
    const text = held + (typeof chunk === 'string' ? chunk : decoder.decode(chunk, { stream: true }))
    // Its line feed may come with the next chunk.
    held = text.endsWith('\r') ? '\r' : ''
    yield visible(held ? text.slice(0, -1) : text)
  }
  yield visible(held + decoder.decode())
}
