import type { ResultColumn, ResultRow } from '../worker/protocol.ts'

const narrowest = 56
const widest = 340
const padding = 22
/** The width of the sort arrow. */
const signWidth = 14

export type Fonts = Readonly<{ cell: string; header: string }>

/** The widths and positions of the columns of a grid. */
export class GridColumns {
  #widths: number[] = []
  #offsets: number[] = [0]
  readonly #chosen = new Set<number>()
  #hidden: ReadonlySet<number> = new Set()
  readonly #kept: Readonly<Record<string, number>>

  /** `kept`: widths that the user has chosen, by column name. */
  constructor(kept: Readonly<Record<string, number>>) {
    this.#kept = kept
  }

  get count(): number {
    return this.#widths.length
  }

  get totalWidth(): number {
    return this.#offsets.at(-1)!
  }

  width(column: number): number {
    return this.#hidden.has(column) ? 0 : this.#widths[column]!
  }

  isHidden(column: number): boolean {
    return this.#hidden.has(column)
  }

  hide(columns: ReadonlySet<number>): void {
    this.#hidden = columns
    this.#place()
  }

  offset(column: number): number {
    return this.#offsets[column]!
  }

  /** Fits the columns to their names and these rows. Widths that the user has chosen stay. */
  fit(columns: readonly ResultColumn[], rows: readonly ResultRow[], fonts: Fonts): void {
    for (const [at, { name }] of columns.entries()) {
      if (this.#chosen.has(at)) continue
      if (Object.hasOwn(this.#kept, name)) {
        this.#widths[at] = this.#kept[name]!
        continue
      }
      const longest = Math.max(
        ...rows.map((row) => measure(inOneLine(row[at] ?? 'NULL').slice(0, 60), fonts.cell)),
      )
      const needed = Math.ceil(Math.max(longest, measure(name, fonts.header) + signWidth)) + padding
      this.#widths[at] = Math.min(Math.max(needed, this.#widths[at] ?? 0, narrowest), widest)
    }
    this.#place()
  }

  resize(column: number, width: number): void {
    this.#widths[column] = Math.max(32, width)
    this.#chosen.add(column)
    this.#place()
  }

  /** The visible columns between two positions: the first, and the one after the last. */
  between(left: number, right: number): readonly [number, number] {
    const from = Math.max(0, this.#after(left) - 1)
    return [from, Math.min(this.count, this.#after(right))]
  }

  /** The first column that begins after a position. */
  #after(position: number): number {
    let [low, high] = [0, this.count]
    while (low < high) {
      const middle = (low + high) >> 1
      if (this.#offsets[middle]! > position) high = middle
      else low = middle + 1
    }
    return low
  }

  #place(): void {
    this.#offsets = [0]
    for (const column of this.#widths.keys()) this.#offsets.push(this.#offsets.at(-1)! + this.width(column))
  }
}

/** The text of a cell, with a sign for each line break. */
export const inOneLine = (text: string) => text.replace(/\r?\n/g, ' ⏎ ')

let canvas: CanvasRenderingContext2D | null | undefined

function measure(text: string, font: string): number {
  canvas ??= document.createElement('canvas').getContext('2d')
  if (!canvas) return text.length * 8
  canvas.font = font
  return canvas.measureText(text).width
}
