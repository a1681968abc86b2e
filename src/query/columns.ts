/** A column of a result, as the server describes it before the rows. */
export type Column = Readonly<{ name: string; typeOid: number; isBinary: boolean }>

/** Reads a RowDescription. */
export function readColumns(buffer: Buffer, start: number): Column[] {
  const count = buffer.readInt16BE(start)
  const columns: Column[] = []
  let at = start + 2
  for (let place = 0; place < count; place += 1) {
    const nameEnd = buffer.indexOf(0, at)
    const name = buffer.toString('utf8', at, nameEnd)
    // After the name: table (4), attribute (2), type (4), size (2), modifier (4), format (2).
    const typeOid = buffer.readUInt32BE(nameEnd + 7)
    // Only rows fetched from a BINARY cursor come in binary.
    const isBinary = buffer.readInt16BE(nameEnd + 17) !== 0
    columns.push({ name, typeOid, isBinary })
    at = nameEnd + 19
  }
  return columns
}

/** Of columns with one name only the last is shown, as in an object; skipped ones are not shown at all. */
export function shownColumns(columns: readonly Column[], skipped: readonly string[]): boolean[] {
  const lastOfName = new Map(columns.map(({ name }, place) => [name, place]))
  return columns.map(({ name }, place) => lastOfName.get(name) === place && !skipped.includes(name))
}
