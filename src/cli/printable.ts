/** Escapes characters that control a terminal or reverse the order of its text. Line ends stay; a tab becomes spaces. */
export const printable = (text: string) => visible(text).replaceAll('\t', '  ')

/** The same for data: tabs and line ends stay, also CR LF. */
export const visible = (text: string) =>
  text.replace(controlCharacters, (character) => {
    const code = character.charCodeAt(0)
    return code < 0x100
      ? `\\x${code.toString(16).padStart(2, '0')}`
      : `\\u${code.toString(16).padStart(4, '0')}`
  })

/** Whether a person can see and type the whole text in one line. */
export const isPlainLine = (text: string) => !/[\t\r\n]/.test(text) && visible(text) === text

/** Quotes a word of a command that a person may copy into a shell. */
export const shellWord = (text: string) =>
  /^[\w@%+:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`

/** C0, C1, marks of direction, U+2028 and U+2029, and a CR without LF. */
const controlCharacters =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: this finds them.
  /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]|\r(?!\n)/g

/** `visible` for chunks of data. */
export async function* visibleTexts(chunks: AsyncIterable<Uint8Array | string>): AsyncGenerator<string> {
  const decoder = new TextDecoder()
  let held = ''
  for await (const chunk of chunks) {
    const text = held + (typeof chunk === 'string' ? chunk : decoder.decode(chunk, { stream: true }))
    // The line feed after it may come with the next chunk.
    held = text.endsWith('\r') ? '\r' : ''
    yield visible(held ? text.slice(0, -1) : text)
  }
  yield visible(held + decoder.decode())
}
