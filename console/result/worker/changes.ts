import { shownValue } from '../../../src/contract/text/json-rows.ts'
import type { Compared, CompareKey, RowChange, WantedRowChanges } from './protocol.ts'
import { shownCell } from './shown-cell.ts'
import type { StoredRows } from './stored-rows.ts'

/** Compares the rows of an earlier answer with those of this one. */
export class Comparison {
  readonly compared: Compared
  readonly #before: StoredRows
  readonly #now: StoredRows
  readonly #pairs: readonly ColumnPair[]
  readonly #key: ColumnPair | undefined
  readonly #added: number[] = []
  readonly #gone: number[] = []
  readonly #changed: (readonly [before: number, now: number])[] = []

  /** `key`: a column's index; null compares whole rows, undefined takes the best column. */
  constructor(before: StoredRows, now: StoredRows, key: CompareKey | undefined) {
    this.#before = before
    this.#now = now
    this.#pairs = pairsOf(before, now)
    const best = key === undefined ? this.#bestKey() : this.#pairs.find((pair) => pair.now === key)
    this.#key = best
    const { same, repeated } = this.#compare()
    const isIn = (names: readonly string[]) => (name: string) => !names.includes(name)
    const [former, current] = [namesOf(before), namesOf(now)]
    this.compared = {
      key: best?.now ?? null,
      keys: this.#pairs.map((pair) => pair.now),
      counts: { changed: this.#changed.length, added: this.#added.length, gone: this.#gone.length },
      same,
      repeated,
      columnsGone: former.filter(isIn(current)),
      columnsAdded: current.filter(isIn(former)),
    }
  }

  changes({ which, from, count }: WantedRowChanges): readonly RowChange[] {
    const all = [
      ...(which === 'all' || which === 'changed' ? this.#changed : []),
      ...(which === 'all' || which === 'added' ? this.#added.map((row) => [undefined, row] as const) : []),
      ...(which === 'all' || which === 'gone' ? this.#gone.map((row) => [row, undefined] as const) : []),
    ]
    return all.slice(from, from + count).map(([before, now]) => this.#changeOf(before, now))
  }

  /** cartodb_id, or else the first column whose values are unique on both sides. */
  #bestKey(): ColumnPair | undefined {
    const isFirst = ({ name }: ColumnPair) => name === 'cartodb_id'
    const wanted = [...this.#pairs.filter(isFirst), ...this.#pairs.filter((pair) => !isFirst(pair))]
    return wanted.find(
      ({ before, now, type }) =>
        type !== 'geometry' && isUnique(this.#before, before) && isUnique(this.#now, now),
    )
  }

  #compare(): Pick<Compared, 'same' | 'repeated'> {
    const keyOf = keyReader(this.#key, this.#pairs)
    const unmatched = new RowsByKey(this.#before, (row) => keyOf(row, 'before'))
    const seen = new Set<string>()
    let same = 0
    for (let row = 0; row < this.#now.count; row++) {
      const values = this.#now.raw(row)
      const key = keyOf(values, 'now')
      seen.add(key)
      const before = unmatched.take(key)
      if (before === undefined) this.#added.push(row)
      else if (this.#key && this.#differing(this.#before.raw(before), values).length > 0)
        this.#changed.push([before, row])
      else same++
    }
    for (const row of unmatched.left()) this.#gone.push(row)
    const repeated = { before: unmatched.repeated, now: this.#now.count - seen.size }
    return { same, repeated: this.#key ? repeated : { before: 0, now: 0 } }
  }

  #differing(before: RawRow, now: RawRow): readonly ColumnPair[] {
    return this.#pairs.filter((pair) => valueAt(before, pair.before) !== valueAt(now, pair.now))
  }

  #changeOf(before: number | undefined, now: number | undefined): RowChange {
    const former = before === undefined ? undefined : this.#before.raw(before)
    const current = now === undefined ? undefined : this.#now.raw(now)
    const pairs = former && current ? this.#differing(former, current) : this.#pairs
    const shown = (stored: StoredRows, row: RawRow | undefined, column: number) =>
      row && shownCell(row[column], stored.columns[column]!)
    const cells = pairs.slice(0, mostCells).map((pair) => ({
      name: pair.name,
      ...apart(
        {
          before: shown(this.#before, former, pair.before),
          now: shown(this.#now, current, pair.now),
        },
        former?.[pair.before],
        current?.[pair.now],
      ),
    }))
    const key = this.#key
    return {
      kind: former ? (current ? 'changed' : 'gone') : 'added',
      key: key && (shown(this.#now, current, key.now) ?? shown(this.#before, former, key.before)),
      cells,
      cellsLeftOut: pairs.length - cells.length,
    }
  }
}

type RawRow = readonly (string | undefined)[]

type BothValues = Pick<RowChange['cells'][number], 'before' | 'now'>

/** Values with the same beginning are shown from shortly before their first difference. */
function apart(cell: BothValues, former: string | undefined, current: string | undefined): BothValues {
  const isAlike = cell.before && cell.before.slice(0, mostAlike) === cell.now?.slice(0, mostAlike)
  if (!isAlike || !former || !current) return cell
  const one = shownValue(former) ?? ''
  const other = shownValue(current) ?? ''
  let at = 0
  while (at < one.length && one[at] === other[at]) at++
  const from = Math.max(0, at - 40)
  const cut = (text: string) => `${from > 0 ? '…' : ''}${text.slice(from, from + mostAlike)}`
  return { before: cut(one), now: cut(other) }
}

/** About as much of a value as the page shows. */
const mostAlike = 118

/** A column that both answers have. */
type ColumnPair = Readonly<{ name: string; type: string; before: number; now: number }>

/** The most columns shown of each change. */
const mostCells = 20

const namesOf = ({ columns }: StoredRows) => columns.map(({ name }) => name)

/** By name; the second column of a name is paired with the second one. */
function pairsOf(before: StoredRows, now: StoredRows): readonly ColumnPair[] {
  const taken = new Set<number>()
  return now.columns.flatMap(({ name, type }, at) => {
    const place = before.columns.findIndex((column, other) => column.name === name && !taken.has(other))
    if (place < 0) return []
    taken.add(place)
    return [{ name, type, before: place, now: at }]
  })
}

const valueAt = (row: RawRow, column: number) => row[column] ?? 'null'

function isUnique(stored: StoredRows, column: number): boolean {
  const seen = new Set<string>()
  for (let row = 0; row < stored.count; row++) {
    const value = valueAt(stored.raw(row), column)
    if (value === 'null' || seen.has(value)) return false
    seen.add(value)
  }
  return true
}

function keyReader(key: ColumnPair | undefined, pairs: readonly ColumnPair[]) {
  return (row: RawRow, side: 'before' | 'now') =>
    key ? valueAt(row, key[side]) : pairs.map((pair) => valueAt(row, pair[side])).join()
}

/** The rows of an answer by key. Rows with the same key are taken in order. */
class RowsByKey {
  /** The number of rows whose key an earlier row has. */
  repeated = 0
  readonly #first = new Map<string, number>()
  readonly #next: Int32Array
  readonly #isTaken: Uint8Array

  constructor(stored: StoredRows, keyOf: (row: RawRow) => string) {
    this.#next = new Int32Array(stored.count).fill(-1)
    this.#isTaken = new Uint8Array(stored.count)
    for (let row = stored.count - 1; row >= 0; row--) {
      const key = keyOf(stored.raw(row))
      const following = this.#first.get(key)
      if (following !== undefined) {
        this.#next[row] = following
        this.repeated++
      }
      this.#first.set(key, row)
    }
  }

  take(key: string): number | undefined {
    const row = this.#first.get(key)
    if (row === undefined) return undefined
    this.#isTaken[row] = 1
    const next = this.#next[row]!
    if (next < 0) this.#first.delete(key)
    else this.#first.set(key, next)
    return row
  }

  *left(): Generator<number> {
    for (const [row, isTaken] of this.#isTaken.entries()) if (!isTaken) yield row
  }
}
