import type { ByteWriter } from './byte-writer.ts'
import { type Column, hiddenColumns } from './columns.ts'
import { type ObjectPlan, planObjects, writeLongObject, writeObject } from './json-objects.ts'
import type { FormatOptions, RowFormat } from './row-format.ts'

/** One object per line, nothing else. */
export class NdjsonFormat implements RowFormat {
  readonly hasFields = false
  readonly #options: FormatOptions
  #plan: ObjectPlan | null = null
  #warn: (sentence: string) => void = () => undefined

  constructor(options: FormatOptions) {
    this.#options = options
  }

  begin(_out: ByteWriter, _refuse: unknown, warn: (sentence: string) => void): void {
    this.#warn = warn
  }

  columns(_out: ByteWriter, columns: readonly Column[]): void {
    const { skippedFields } = this.#options
    const hidden = hiddenColumns(columns.filter(({ name }) => !skippedFields.has(name)))
    if (hidden !== undefined) this.#warn(hidden)
    this.#plan = planObjects(columns, skippedFields)
  }

  row(out: ByteWriter, row: Buffer, start: number, end: number): void {
    writeObject(out, this.#plan!, row, start, end)
    out.ascii('\n')
  }

  *longRow(out: ByteWriter, row: Buffer, start: number): Generator<void> {
    yield* writeLongObject(out, this.#plan!, row, start)
    out.ascii('\n')
  }

  end(): void {}
}
