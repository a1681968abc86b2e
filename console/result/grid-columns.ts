import type { Column, Row } from './protocol.ts'

const narrowest = 56
const widest = 340
const padding = 22
/** Of the order, beside the name. */
const signWidth = 14

export type Fonts = Readonly<{ cell: string; header: string }>

/** Where the columns of a grid lie. */
export class GridColumns {
  #widths: number[] = []
  #offsets: number[] = [0]
  readonly #chosen = new Set<number>()
  readonly #kept: Readonly<Record<string, number>>

  /** `kept`: the widths that somebody has chosen for columns of these names. */
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
    return this.#widths[column]!
  }

  offset(column: number): number {
    return this.#offsets[column]!
  }

  /** By what stands in the header and in these rows. What somebody has made wider or narrower stays. */
  fit(columns: readonly Column[], rows: readonly Row[], fonts: Fonts): void {
    for (const [at, { name }] of columns.entries()) {
      if (this.#chosen.has(at)) continue
      if (Object.hasOwn(this.#kept, name)) {
        this.#widths[at] = this.#kept[name]!
        continue
      }
      const longest = Math.max(...rows.map((row) => measure((row[at] ?? 'NULL').slice(0, 60), fonts.cell)))
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

  /** Those that are seen between two positions: the first, and the one after the last. */
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
    for (const width of this.#widths) this.#offsets.push(this.#offsets.at(-1)! + width)
  }
}

let canvas: CanvasRenderingContext2D | null | undefined

function measure(text: string, font: string): number {
  canvas ??= document.createElement('canvas').getContext('2d')
  if (!canvas) return text.length * 8
  canvas.font = font
  return canvas.measureText(text).width
}
