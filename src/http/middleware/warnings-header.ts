/** The `Warnings` header: a JSON array of sentences, in ASCII, as many as fit into 4 KB. */
export function warningsHeader(warnings: readonly string[]): string {
  const fitting: string[] = []
  let length = 2
  for (const [at, warning] of warnings.entries()) {
    const json = asciiJson(warning)
    length += json.length + 1
    if (length > maxLength) return `[${[...fitting, asciiJson(`${warnings.length - at} more`)].join(',')}]`
    fitting.push(json)
  }
  return `[${fitting.join(',')}]`
}

const asciiJson = (text: string) =>
  JSON.stringify(text).replace(
    /[\u007f-\uffff]/g,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )

const maxLength = 4000
