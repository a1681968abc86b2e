import assert from 'node:assert/strict'
import { randomInt } from 'node:crypto'
import { type TestContext, test } from 'node:test'
import { type Random, seededRandom } from '../../chaos/random.ts'
import { createLog } from '../../src/log/log.ts'
import { startService } from '../../src/service/service.ts'
import { grantsOf, keysClient, roleOf } from '../support/keys/keys-client.ts'
import { type Setup, setup } from '../support/service/setup.ts'
import { askTiles } from '../support/tiles/tile-api.ts'

const seed = Number(process.env.CARTAGE_TEST_SEED) || randomInt(2 ** 31)
const steps = Number(process.env.CARTAGE_TEST_TILE_STEPS ?? 100)

type Row = Record<string, string>
type Table = { rows: Row[]; readers: Set<number> }
type Key = { name: string; role: string; token: string; oldTokens: string[] }

test('no tile is stale or forbidden, whatever is written, defined, revoked or regenerated between requests to two services', async (t) => {
  t.diagnostic(`CARTAGE_TEST_SEED=${seed} CARTAGE_TEST_TILE_STEPS=${steps}`)
  const world = new World(await setup(t), seededRandom(seed))
  await world.open(t)
  for (let step = 1; step <= steps; step += 1) await world.step(step)
  t.diagnostic(`${world.reads} reads, of these ${world.unchanged} answered with 304`)
  assert.ok(world.reads > steps && world.unchanged > 0)
})

/** The tables, their rows and who may read them, as they must be; and the service as it is. */
class World {
  reads = 0
  unchanged = 0
  readonly #house: Setup
  readonly #random: Random
  readonly #tables = new Map<string, Table>()
  readonly #keys: Key[] = []
  readonly #bases: string[] = []
  /** What was shown under each entity tag. */
  readonly #shown = new Map<string, string>()
  readonly #history: string[] = []
  #count = 0

  constructor(house: Setup, random: Random) {
    this.#house = house
    this.#random = random
  }

  async open(t: TestContext): Promise<void> {
    const { user, service, keys: secrets } = this.#house
    const { config } = service.services
    const log = createLog('error')
    const other = await startService({ ...config, port: 0 }, secrets, { http: true, worker: false }, log)
    t.after(() => other.stop())
    this.#bases.push(user.base, `${other.url}/user/${user.username}`)
    for (const name of ['one', 'two']) await this.#create(name)
    for (const name of ['a', 'b']) {
      const grants = [{ type: 'apis', apis: ['maps'] }, grantsOf({ one: ['select'], two: ['select'] })[1]]
      const { token } = await keysClient(user).make(name, grants)
      this.#keys.push({ name, token, role: await roleOf(this.#house, user, name), oldTokens: [] })
      for (const table of this.#tables.values()) table.readers.add(this.#keys.length - 1)
    }
  }

  /** A change with reads beside it, which may see it or not, and reads after it, which must. */
  async step(step: number): Promise<void> {
    const change = this.#nextChange()
    const reads = [this.#nextRead(), this.#nextRead()]
    const before = reads.map((read) => this.#wanted(read))
    const running = this.#random.isLucky(0.4) ? reads.map((read) => this.#read(read)) : []
    await change()
    for (const [place, answer] of (await Promise.all(running)).entries()) {
      const possible = [before[place], this.#wanted(reads[place]!)]
      assert.ok(possible.includes(answer), `${this.#told(step)} ${answer}\nnot ${possible.join('\nnor ')}`)
    }
    for (const read of [...reads, this.#nextRead()]) {
      assert.equal(await this.#read(read), this.#wanted(read), `${this.#told(step)} ${JSON.stringify(read)}`)
    }
  }

  #told(step: number): string {
    return `step ${step} after ${this.#history.slice(-12).join(', ')}:`
  }

  #newValue(): string {
    this.#count += 1
    return `v${this.#count}`
  }

  #nextChange(): () => Promise<void> {
    const name = this.#random.pick([...this.#tables.keys()])
    const kind = this.#random.weighted({
      ...{ insert: 4, update: 3, remove: 2, truncate: 2, evade: 2, column: 2, drop: 1 },
      ...{ grant: 3, revoke: 3, regenerate: 1, nothing: 4 },
    })
    const key = Math.floor(this.#random.next() * this.#keys.length)
    const value = this.#newValue()
    const table = this.#tables.get(name)!
    const { rows } = table
    this.#history.push(`${kind} ${name} ${this.#keys[key]!.name} ${value}`)
    const change = (sql: string, next: Row[]) => async () => {
      await this.#house.user.sql(sql)
      table.rows = next
    }
    const all = rows.map((row) => ({ ...row, name: value }))
    switch (kind) {
      case 'insert':
        return change(insertInto(name, value), [...rows, { ...this.#defaults(name), name: value }])
      case 'update':
        return change(`update ${name} set name = '${value}'`, all)
      case 'remove':
        return change(
          `delete from ${name} where name = '${rows[0]?.name}'`,
          rows.filter((row) => row.name !== rows[0]?.name),
        )
      case 'truncate':
        return change(`begin; truncate ${name}; ${insertInto(name, value)}; commit`, [
          { ...this.#defaults(name), name: value },
        ])
      case 'evade':
        return change(
          `begin; alter table ${name} disable trigger track_updates; update ${name} set name = '${value}';
           alter table ${name} enable trigger track_updates; commit`,
          all,
        )
      case 'column':
        this.#columns.get(name)!.push(value)
        return change(
          `alter table ${name} add ${value} text default '${value}'`,
          rows.map((row) => ({ ...row, [value]: value })),
        )
      case 'drop':
        return () => this.#create(name, `drop table ${name};`)
      case 'grant':
      case 'revoke':
        return () => this.#changeRight(name, table, key, kind === 'grant')
      case 'regenerate':
        return () => this.#regenerate(this.#keys[key]!)
      default:
        return async () => undefined
    }
  }

  readonly #columns = new Map<string, string[]>()
  readonly #defaults = (name: string): Row =>
    Object.fromEntries(this.#columns.get(name)!.map((column) => [column, column]))

  /** With the same readers as before. */
  async #create(name: string, first = ''): Promise<void> {
    const value = this.#newValue()
    const { readers = new Set<number>() } = this.#tables.get(name) ?? {}
    const rights = this.#keys.map(({ role }, key) =>
      readers.has(key) ? `grant select on ${name} to "${role}"` : `revoke select on ${name} from "${role}"`,
    )
    await this.#house.user.sql(`${first} create table ${name} (name text, the_geom geometry(Point, 4326));
      select CDB_CartodbfyTable('${name}'); ${[insertInto(name, value), ...rights].join('; ')}`)
    this.#columns.set(name, [])
    this.#tables.set(name, { rows: [{ name: value }], readers })
  }

  async #changeRight(name: string, table: Table, key: number, isGiven: boolean): Promise<void> {
    const { role } = this.#keys[key]!
    await this.#house.user.sql(
      isGiven ? `grant select on ${name} to "${role}"` : `revoke select on ${name} from "${role}"`,
    )
    if (isGiven) table.readers.add(key)
    else table.readers.delete(key)
  }

  async #regenerate(key: Key): Promise<void> {
    const { status, body } = await keysClient(this.#house.user).regenerate(key.name)
    assert.equal(status, 200, JSON.stringify(body))
    key.oldTokens.push(key.token)
    key.token = body.token
  }

  #nextRead(): Read {
    const key = Math.floor(this.#random.next() * (this.#keys.length + 1))
    const { token = this.#house.user.masterToken, oldTokens = [] } = this.#keys[key] ?? {}
    return {
      base: this.#random.pick(this.#bases),
      table: this.#random.pick([...this.#tables.keys()]),
      place: this.#random.pick(['0/0/0', '1/1/0']),
      key,
      token: this.#random.isLucky(0.1) && oldTokens.length > 0 ? this.#random.pick(oldTokens) : token,
      tags: this.#random.isLucky(0.5) ? [...this.#shown.keys()].slice(-50).join(', ') : '',
    }
  }

  /** The status, or what the tile shows. */
  #wanted({ table: name, key, token }: Read): string {
    const { rows, readers } = this.#tables.get(name)!
    if (this.#keys[key] && token !== this.#keys[key].token) return '401'
    if (this.#keys[key] && !readers.has(key)) return '404'
    return shown(rows)
  }

  async #read({ base, table, place, token, tags }: Read): Promise<string> {
    this.reads += 1
    const headers: Record<string, string> = tags ? { 'if-none-match': tags } : {}
    const {
      status,
      layers,
      headers: answered,
    } = await askTiles(this.#house.user, `/${table}/${place}`, { base, token, headers })
    const tag = answered.get('etag') ?? ''
    if (status === 304) {
      this.unchanged += 1
      return this.#shown.get(tag) ?? `304 with the unknown tag ${tag}`
    }
    if (status !== 200 && status !== 204) return String(status)
    const seen = shown((layers[table] ?? []).map(({ properties: { cartodb_id: _, ...rest } }) => rest as Row))
    this.#shown.set(tag, seen)
    return seen
  }
}

type Read = Readonly<{ base: string; table: string; place: string; key: number; token: string; tags: string }>

const insertInto = (name: string, value: string) =>
  `insert into ${name} (name, the_geom) values ('${value}', st_point(10, 10, 4326))`

const shown = (rows: readonly Row[]) =>
  JSON.stringify(rows.map((row) => JSON.stringify(Object.entries(row).toSorted())).toSorted())
