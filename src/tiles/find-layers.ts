import { AppError, errors } from '../errors.ts'
import { inLayer, tableLayer } from './in-layer.ts'
import type { Layer, TableName } from './tile-layer.ts'

export type Look = (table: TableName) => Promise<Layer>

/** The tables that a client names, in its order. Throws unless the role may read all of them. */
export async function findLayers(ownSchema: string, table: string, look: Look): Promise<readonly Layer[]> {
  if (!table.includes(',')) return [await findNamed(ownSchema, table, 0, look)]
  // A name may have a comma too.
  const whole = await unlessMissing(findLayer(ownSchema, table, look))
  if (whole) return [whole]
  const names = table.split(',')
  if (names.length > mostTables) throw errors.badRequest(`At most ${mostTables} tables make a tile`)
  const layers: Layer[] = []
  for (const [index, name] of names.entries()) layers.push(await findNamed(ownSchema, name, index, look))
  return layers
}

const mostTables = 10

async function findNamed(ownSchema: string, name: string, index: number, look: Look): Promise<Layer> {
  return findLayer(ownSchema, name, look).catch((error: unknown) => {
    throw inLayer(error, tableLayer(name, index))
  })
}

/** A name may have a dot too. */
async function findLayer(ownSchema: string, table: string, look: Look): Promise<Layer> {
  const dot = table.indexOf('.')
  if (dot < 0) return lookIfNameable({ schema: ownSchema, name: table }, look)
  const own = await unlessMissing(lookIfNameable({ schema: ownSchema, name: table }, look))
  return own ?? lookIfNameable({ schema: table.slice(0, dot), name: table.slice(dot + 1) }, look)
}

/** PostgreSQL would cut a longer name, and find another table. */
async function lookIfNameable(table: TableName, look: Look): Promise<Layer> {
  const isNameable = [table.schema, table.name].every((each) => each !== '' && Buffer.byteLength(each) < 64)
  if (!isNameable) throw notFound(table.name)
  return look(table)
}

const notFound = (table: string) => errors.notFound(`Table '${table}'`)

function unlessMissing(found: Promise<Layer>): Promise<Layer | undefined> {
  return found.catch((error: unknown) => {
    if (error instanceof AppError && error.code === 'not-found') return undefined
    throw error
  })
}
