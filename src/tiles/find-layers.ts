import type { Principal } from '../auth/account.ts'
import { AppError, errors } from '../errors.ts'
import type { Session } from '../postgres/session.ts'
import type { Layer, LookUpLayer } from './tile-layer.ts'

/** The tables that a client names, in its order. Throws unless the role may read all of them. */
export async function findLayers(
  session: Session,
  principal: Principal,
  table: string,
  look: LookUpLayer,
): Promise<readonly Layer[]> {
  const find = (name: string) => findLayer(session, principal, name, look)
  // A name may have a comma too.
  const whole = await unlessMissing(find(table))
  if (whole) return [whole]
  const names = table.split(',')
  if (names.length === 1) throw notFound(table)
  if (names.length > mostTables) throw errors.badRequest(`At most ${mostTables} tables make a tile`)
  const layers: Layer[] = []
  for (const name of names) layers.push(await find(name))
  return layers
}

export const mostTables = 10

/** A name may have a dot too. */
async function findLayer(
  session: Session,
  { account }: Principal,
  table: string,
  look: LookUpLayer,
): Promise<Layer> {
  const dot = table.indexOf('.')
  const own = await unlessMissing(lookIfNameable(session, account.schema, table, look))
  if (own) return own
  if (dot < 0) throw notFound(table)
  return lookIfNameable(session, table.slice(0, dot), table.slice(dot + 1), look)
}

/** PostgreSQL would cut a longer name, and find another table. */
async function lookIfNameable(session: Session, schema: string, name: string, look: LookUpLayer) {
  const isNameable = [schema, name].every((each) => each !== '' && Buffer.byteLength(each) < 64)
  if (!isNameable) throw notFound(name)
  return look(session, { schema, name })
}

const notFound = (table: string) => errors.notFound(`Table '${table}'`)

function unlessMissing(found: Promise<Layer>): Promise<Layer | undefined> {
  return found.catch((error: unknown) => {
    if (error instanceof AppError && error.code === 'not-found') return undefined
    throw error
  })
}
