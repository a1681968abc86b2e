import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import type { Random } from '../../../chaos/random.ts'
import { grantsOf, keysClient, roleOf } from '../keys/keys-client.ts'
import { atOtherProcess } from '../service/processes.ts'
import type { Setup } from '../service/setup.ts'
import { askTiles } from './tile-api.ts'

type Row = Record<string, string>

type Table = {
  rows: Row[]
  columns: string[]
  /** What the function of its view adds to a name, and what the view itself adds. */
  label: string
  suffix: string
  /** The rows in its materialized view. */
  stored: Row[]
}

/**
 * A table; a view of it with a function; a view of that view; a view that reads the table with its reader's rights; a
 * materialized view.
 */
type Kind = 'table' | 'view' | 'over' | 'invoker' | 'stored'
type Layer = Readonly<{ table: string; kind: Kind; readers: Set<number> }>
type Key = { name: string; role: string; token: string; oldTokens: string[] }
type Read = Readonly<{ base: string; layer: string; place: string; key: number; token: string; tags: string }>

const layerNames: Readonly<Record<Kind, (table: string) => string>> = {
  table: (table) => table,
  view: (table) => `${table}_view`,
  over: (table) => `${table}_over`,
  invoker: (table) => `${table}_mine`,
  stored: (table) => `${table}_stored`,
}
const kinds = Object.keys(layerNames) as readonly Kind[]

const changes = {
  ...{ insert: 4, update: 3, remove: 2, truncate: 2, evade: 2, column: 2, drop: 1 },
  ...{ view: 2, label: 2, refresh: 3, grant: 4, revoke: 4, regenerate: 1, nothing: 4 },
}
type Change = keyof typeof changes

/** The expected tables and views, their rows and who may read them, and two processes of the service. */
export class TileWorld {
  reads = 0
  unchanged = 0
  readonly #house: Setup
  readonly #random: Random
  readonly #tables = new Map<string, Table>()
  readonly #layers = new Map<string, Layer>()
  readonly #keys: Key[] = []
  readonly #bases: string[] = []
  /** What was shown under each ETag. */
  readonly #shown = new Map<string, string>()
  readonly #history: string[] = []
  #count = 0

  constructor(house: Setup, random: Random) {
    this.#house = house
    this.#random = random
  }

  async open(t: TestContext): Promise<void> {
    const { user } = this.#house
    this.#bases.push(user.base, await atOtherProcess(t, this.#house))
    for (const name of ['one', 'two']) await this.#create(name)
    for (const name of ['a', 'b']) {
      const grants = [{ type: 'apis', apis: ['maps'] }, grantsOf({ one: ['select'], two: ['select'] })[1]]
      const { token } = await keysClient(user).make(name, grants)
      const role = await roleOf(this.#house, user, name)
      this.#keys.push({ name, token, role, oldTokens: [] })
      for (const [layer, { kind, readers }] of this.#layers) {
        readers.add(this.#keys.length - 1)
        if (kind !== 'table') await user.sql(`grant select on ${layer} to "${role}"`)
      }
    }
  }

  /** A change with concurrent reads, which may see it or not, and reads after it, which must. */
  async step(step: number): Promise<void> {
    const { change, table } = this.#nextChange()
    const reads = [this.#nextRead(table), this.#nextRead(table)]
    const before = reads.map((read) => this.#wanted(read))
    // So that they are cached before the change.
    if (this.#random.isLucky(0.6)) for (const read of reads) await this.#expect(read, step)
    const running = this.#random.isLucky(0.4) ? reads.map((read) => this.#read(read)) : []
    await untilNoDeadlock(change)
    for (const [place, answer] of (await Promise.all(running)).entries()) {
      const possible = [before[place], this.#wanted(reads[place]!)]
      assert.ok(possible.includes(answer), `${this.#told(step)} ${answer}\nnot ${possible.join('\nnor ')}`)
    }
    for (const read of [...reads, this.#nextRead()]) {
      const again = { ...read, base: this.#random.pick(this.#bases), tags: this.#lastTags() }
      await this.#expect(read, step)
      if (this.#random.isLucky(0.5)) await this.#expect(again, step)
    }
  }

  async #expect(read: Read, step: number): Promise<void> {
    assert.equal(await this.#read(read), this.#wanted(read), `${this.#told(step)} ${JSON.stringify(read)}`)
  }

  #told(step: number): string {
    return `step ${step} after ${this.#history.slice(-12).join(', ')}:`
  }

  #newValue(): string {
    this.#count += 1
    return `v${this.#count}`
  }

  #nextChange(): Readonly<{ table: string; change: () => Promise<void> }> {
    const table = this.#random.pick([...this.#tables.keys()])
    const kind = this.#random.weighted(changes)
    const key = Math.floor(this.#random.next() * this.#keys.length)
    const layer = this.#random.pick(kinds)
    const value = this.#newValue()
    this.#history.push(`${kind} ${layerNames[layer](table)} ${this.#keys[key]!.name} ${value}`)
    return { table, change: this.#changeOf(kind, table, layerNames[layer](table), key, value) }
  }

  #changeOf(kind: Change, name: string, layer: string, key: number, value: string): () => Promise<void> {
    switch (kind) {
      case 'drop':
        return () => this.#create(name, `drop table ${name} cascade;`)
      case 'grant':
      case 'revoke':
        return () => this.#changeRight(layer, key, kind === 'grant')
      case 'regenerate':
        return () => this.#regenerate(this.#keys[key]!)
      case 'view':
      case 'label':
      case 'refresh':
        return this.#changeOfView(kind, name, value)
      case 'nothing':
        return async () => undefined
      default:
        return this.#changeOfTable(kind, name, value)
    }
  }

  #changeOfTable(
    kind: 'insert' | 'update' | 'remove' | 'truncate' | 'evade' | 'column',
    name: string,
    value: string,
  ): () => Promise<void> {
    const table = this.#tables.get(name)!
    const { rows, columns } = table
    const change = (sql: string, next: Row[]) => async () => {
      await this.#house.user.sql(sql)
      table.rows = next
    }
    const all = rows.map((row) => ({ ...row, name: value }))
    const added = { ...Object.fromEntries(columns.map((column) => [column, column])), name: value }
    switch (kind) {
      case 'insert':
        return change(insertInto(name, value), [...rows, added])
      case 'update':
        return change(`update ${name} set name = '${value}'`, all)
      case 'remove':
        return change(
          `delete from ${name} where name = '${rows[0]?.name}'`,
          rows.filter((row) => row.name !== rows[0]?.name),
        )
      case 'truncate':
        return change(`begin; truncate ${name}; ${insertInto(name, value)}; commit`, [added])
      case 'evade':
        return change(
          `begin; alter table ${name} disable trigger track_updates; update ${name} set name = '${value}';
           alter table ${name} enable trigger track_updates; commit`,
          all,
        )
      case 'column':
        columns.push(value)
        return change(
          `alter table ${name} add ${value} text default '${value}'`,
          rows.map((row) => ({ ...row, [value]: value })),
        )
    }
  }

  #changeOfView(kind: 'view' | 'label' | 'refresh', name: string, value: string): () => Promise<void> {
    const table = this.#tables.get(name)!
    const { sql } = this.#house.user
    switch (kind) {
      case 'view':
        return async () => {
          await sql(viewOf(name, value))
          table.suffix = value
        }
      case 'label':
        return async () => {
          await sql(labelOf(name, value))
          table.label = value
        }
      case 'refresh':
        return async () => {
          await sql(`refresh materialized view ${name}_stored`)
          table.stored = table.rows
        }
    }
  }

  /** With the same readers as before. */
  async #create(table: string, first = ''): Promise<void> {
    const value = this.#newValue()
    const made = kinds.map((kind): [string, Layer] => {
      const layer = layerNames[kind](table)
      return [layer, { table, kind, readers: this.#layers.get(layer)?.readers ?? new Set() }]
    })
    const rights = made.flatMap(([layer, { readers }]) =>
      this.#keys.map(({ role }, key) =>
        readers.has(key)
          ? `grant select on ${layer} to "${role}"`
          : `revoke select on ${layer} from "${role}"`,
      ),
    )
    await this.#house.user.sql(`${first} create table ${table} (name text, the_geom geometry(Point, 4326));
      select CDB_CartodbfyTable('${table}'); ${insertInto(table, value)}; ${labelOf(table, '')}; ${viewOf(table, '')};
      create view ${table}_over as select name, the_geom from ${table}_view;
      create view ${table}_mine with (security_invoker) as select name, the_geom from ${table};
      create materialized view ${table}_stored as select name, the_geom from ${table}; ${rights.join('; ')}`)
    const rows = [{ name: value }]
    this.#tables.set(table, { rows, columns: [], label: '', suffix: '', stored: rows })
    for (const [layer, known] of made) this.#layers.set(layer, known)
  }

  async #changeRight(layer: string, key: number, isGiven: boolean): Promise<void> {
    const { role } = this.#keys[key]!
    await this.#house.user.sql(
      isGiven ? `grant select on ${layer} to "${role}"` : `revoke select on ${layer} from "${role}"`,
    )
    const { readers } = this.#layers.get(layer)!
    if (isGiven) readers.add(key)
    else readers.delete(key)
  }

  async #regenerate(key: Key): Promise<void> {
    const { status, body } = await keysClient(this.#house.user).regenerate(key.name)
    assert.equal(status, 200, JSON.stringify(body))
    key.oldTokens.push(key.token)
    key.token = body.token
  }

  #lastTags(): string {
    return [...this.#shown.keys()].slice(-50).join(', ')
  }

  /** Mostly of this table's layers. */
  #nextRead(table?: string): Read {
    const key = Math.floor(this.#random.next() * (this.#keys.length + 1))
    const { token = this.#house.user.masterToken, oldTokens = [] } = this.#keys[key] ?? {}
    return {
      base: this.#random.pick(this.#bases),
      layer:
        table && this.#random.isLucky(0.8)
          ? layerNames[this.#random.pick(kinds)](table)
          : this.#random.pick([...this.#layers.keys()]),
      place: this.#random.isLucky(0.8) ? '0/0/0' : '1/1/0',
      key,
      token: this.#random.isLucky(0.1) && oldTokens.length > 0 ? this.#random.pick(oldTokens) : token,
      tags: this.#random.isLucky(0.5) ? this.#lastTags() : '',
    }
  }

  /** The status, or the rows of the tile. */
  #wanted({ layer, key, token }: Read): string {
    const { table, kind, readers } = this.#layers.get(layer)!
    const isKey = this.#keys[key] !== undefined
    if (isKey && token !== this.#keys[key]!.token) return '401'
    if (isKey && !readers.has(key)) return '404'
    if (isKey && kind === 'invoker' && !this.#layers.get(table)!.readers.has(key)) return '403'
    return shown(this.#rowsOf(kind, this.#tables.get(table)!))
  }

  #rowsOf(kind: Kind, { rows, label, suffix, stored }: Table): readonly Row[] {
    if (kind === 'table') return rows
    const added = kind === 'view' || kind === 'over' ? `${label}${suffix}` : ''
    return (kind === 'stored' ? stored : rows).map(({ name }) => ({ name: `${name}${added}` }))
  }

  async #read({ base, layer, place, token, tags }: Read): Promise<string> {
    this.reads += 1
    const headers: Record<string, string> = tags ? { 'if-none-match': tags } : {}
    const reply = await askTiles(this.#house.user, `/${layer}/${place}`, { base, token, headers })
    const tag = reply.headers.get('etag') ?? ''
    if (reply.status === 304) {
      this.unchanged += 1
      return this.#shown.get(tag) ?? `304 with the unknown tag ${tag}`
    }
    if (reply.status !== 200 && reply.status !== 204) return String(reply.status)
    const features = reply.layers[layer] ?? []
    const seen = shown(features.map(({ properties: { cartodb_id: _, ...rest } }) => rest as Row))
    this.#shown.set(tag, seen)
    return seen
  }
}

const insertInto = (name: string, value: string) =>
  `insert into ${name} (name, the_geom) values ('${value}', st_point(10, 10, 4326))`

const labelOf = (table: string, label: string) =>
  `create or replace function ${table}_label(text) returns text immutable language sql as $$ select $1 || '${label}' $$`

const viewOf = (table: string, suffix: string) =>
  `create or replace view ${table}_view as select ${table}_label(name) || '${suffix}' as name, the_geom from ${table}`

const shown = (rows: readonly Row[]) =>
  JSON.stringify(rows.map((row) => JSON.stringify(Object.entries(row).toSorted())).toSorted())

/** A change and a read lock several relations in different orders. PostgreSQL rolls one of the two back completely. */
async function untilNoDeadlock(change: () => Promise<void>): Promise<void> {
  for (let left = 5; ; left--) {
    try {
      return await change()
    } catch (error) {
      if (left === 0 || (error as { code?: string }).code !== '40P01') throw error
    }
  }
}
