import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { type Config, importFolderOf } from '../../../src/config/config.ts'
import type { ImportDocument } from '../../../src/contract/documents.ts'
import { eventually, type Setup, setup, type TestUser } from '../service/setup.ts'

export type ImportHouse = Setup &
  Readonly<{
    spool: string
    /** Imports a file and waits for its end. */
    load: (
      name: string,
      content: string | Buffer,
      fields?: Fields,
      user?: TestUser,
    ) => Promise<ImportDocument>
    post: (name: string, content: string | Buffer, fields?: Fields, user?: TestUser) => Promise<Response>
    wait: (id: string, user?: TestUser) => Promise<ImportDocument>
    /** Folders of imports and uploads that still exist. */
    left: () => string[]
    /** Waits: the end of an import is reported before its files are removed. */
    nothingLeft: () => Promise<void>
  }>

export type Fields = Readonly<Record<string, string>>

/** A service with a worker that imports into a user's tables. */
export async function setupImports(t: TestContext, config: Partial<Config> = {}): Promise<ImportHouse> {
  const house = await setup(t, { worker: true, config })
  const spool = importFolderOf(house.service.services.config)
  const post: ImportHouse['post'] = (name, content, fields = {}, user = house.user) => {
    const form = new FormData()
    for (const [field, value] of Object.entries(fields)) form.append(field, value)
    form.append('file', new Blob([new Uint8Array(Buffer.from(content))]), name)
    return fetch(`${user.base}/api/v1/imports/?api_key=${user.masterToken}`, { method: 'POST', body: form })
  }
  const wait: ImportHouse['wait'] = async (id, user = house.user) => {
    const url = `${user.base}/api/v1/imports/${id}?wait=60&api_key=${user.masterToken}`
    return (await (await fetch(url)).json()) as ImportDocument
  }
  const load: ImportHouse['load'] = async (name, content, fields, user) => {
    const answer = await post(name, content, fields, user)
    const body = (await answer.json()) as { item_queue_id?: string }
    if (answer.status !== 200 || !body.item_queue_id)
      throw new Error(`${answer.status} ${JSON.stringify(body)}`)
    return wait(body.item_queue_id, user)
  }
  const left = () => readdirSync(spool).filter((name) => name !== '.id')
  const nothingLeft = () => eventually(() => assert.deepEqual(left(), []))
  return { ...house, spool, load, post, wait, left, nothingLeft }
}

/** A file written by GDAL. */
export function made(
  driver: string,
  name: string,
  content: string,
  ...args: readonly string[]
): Map<string, Buffer> {
  const folder = mkdtempSync(join(tmpdir(), 'cartage-made-'))
  try {
    writeFileSync(join(folder, 'source.geojson'), content)
    const output = join(folder, 'out')
    execFileSync('mkdir', [output])
    execFileSync('ogr2ogr', ['-f', driver, join(output, name), join(folder, 'source.geojson'), ...args], {
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    const files = readdirSync(output, { recursive: true, withFileTypes: true }).filter((file) =>
      file.isFile(),
    )
    return new Map(
      files.map((file) => {
        const path = join(file.parentPath, file.name)
        return [path.slice(output.length + 1), readFileSync(path)]
      }),
    )
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Three places: with accents, dates, integers and fractions, and one without any values. */
export const places = JSON.stringify({
  type: 'FeatureCollection',
  features: [
    {
      type: 'Feature',
      properties: {
        name: 'Málaga "Ñ"\ttab',
        pop: 578460,
        ratio: 1.5,
        founded: '2020-01-31',
        seen: '2020-01-31T10:00:00Z',
      },
      geometry: { type: 'Point', coordinates: [-4.42, 36.72] },
    },
    {
      type: 'Feature',
      properties: {
        name: "x'; drop table t; --\nline",
        pop: 2,
        ratio: -0.25,
        founded: '1999-12-31',
        seen: null,
      },
      geometry: { type: 'Point', coordinates: [139.7, 35.7] },
    },
    {
      type: 'Feature',
      properties: { name: null, pop: null, ratio: null, founded: null, seen: null },
      geometry: null,
    },
  ],
})
