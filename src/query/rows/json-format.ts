import { remembered } from '../../remembered.ts'
import type { ByteWriter } from './byte-writer.ts'
import type { Column } from './columns.ts'
import { type ObjectPlan, planObjects, writeLongObject, writeObject } from './json-objects.ts'
import type { Field, FormatOptions, RowFormat, Summary } from './row-format.ts'

/** `{"rows":[...],"time":...,"fields":{...},"total_rows":...}`: what is known last comes last. */
export class JsonFormat implements RowFormat {
  readonly hasFields = true
  readonly #options: FormatOptions
  #plan: ObjectPlan | null = null
  #rows = 0

  constructor(options: FormatOptions) {
    this.#options = options
  }

  begin(out: ByteWriter): void {
    out.ascii('{"rows":[')
  }

  columns(_out: ByteWriter, columns: readonly Column[]): void {
    this.#plan = planObjects(columns, this.#options.skippedFields)
  }

  row(out: ByteWriter, row: Buffer, start: number, end: number): void {
    if (this.#rows > 0) out.ascii(',')
    this.#rows += 1
    writeObject(out, this.#plan!, row, start, end)
  }

  *longRow(out: ByteWriter, row: Buffer, start: number): Generator<void> {
    if (this.#rows > 0) out.ascii(',')
    this.#rows += 1
    yield* writeLongObject(out, this.#plan!, row, start)
  }

  end(out: ByteWriter, { seconds, fields, totalRows, total, notices }: Summary): void {
    // In parts: reading a concatenated string character by character is slower.
    out.ascii('],"time":')
    out.ascii(String(seconds))
    out.ascii(',"fields":{')
    const members = fieldMembers(fields)
    out.copy(members, 0, members.length)
    out.ascii('},"total_rows":')
    out.ascii(String(totalRows))
    if (total) out.ascii(`,"total":${total.rows},"total_kind":"${total.kind}"`)
    for (const [kind, messages] of notices) out.utf8(`,${JSON.stringify(kind)}:${JSON.stringify(messages)}`)
    out.ascii('}')
  }
}

const fieldMembers = remembered((fields: readonly Field[]) => Buffer.from(fields.map(fieldMember).join(',')))

export function fieldMember({ name, type, pgtype }: Field): string {
  return `${JSON.stringify(name)}:${JSON.stringify({ type, pgtype })}`
}
