import type { ByteWriter } from './byte-writer.ts'
import type { Column } from './columns.ts'
import type { RowFormat } from './row-format.ts'

/** Keeps the columns of a result, and writes nothing. */
export class ResultDescription implements RowFormat {
  readonly hasFields = false
  #described: readonly Column[] = []

  get described(): readonly Column[] {
    return this.#described
  }

  columns(_out: ByteWriter, columns: readonly Column[]): void {
    this.#described = columns
  }

  begin(): void {}
  row(): void {}
  *longRow(): Generator<void> {}
  end(): void {}
}
