import { signal } from '@preact/signals'
import {
  type QueryDefinition,
  type QueryParamType,
  queryParamTypes,
  type SavedQueryDocument,
  type SavedQueryList,
} from '../../../src/contract/saved-queries.ts'
import { numberNames } from '../../../src/sql-text/named-values.ts'
import { request, requestJson } from '../../api/request.ts'

/** Which dialog is open: to save this statement, or to open a query. */
export const savedDialog = signal<
  Readonly<{ kind: 'save'; text: string; name: string } | { kind: 'open' }> | undefined
>(undefined)

export const listQueries = async (abort: AbortSignal) =>
  (await requestJson<SavedQueryList>('listQueries', { signal: abort })).queries

export const saveQuery = (query: string, json: QueryDefinition) =>
  requestJson<SavedQueryDocument>('saveQuery', { parameters: { query }, json, isRepeatable: true })

export async function deleteQuery(query: string): Promise<void> {
  await request('deleteQuery', { parameters: { query } })
}

/** A parameter as it is edited. The default is text; empty: the parameter is required. */
export type EditedParam = Readonly<{ name: string; type: QueryParamType; value: string }>

/** The parameters of a statement, as they were saved before if they were. */
export function editedParams(text: string, known: SavedQueryDocument | undefined): readonly EditedParam[] {
  return numberNames(text).names.map((name) => {
    const { type = 'text', default: value } = known?.params[name] ?? {}
    return { name, type, value: value === undefined ? '' : shownDefault(value) }
  })
}

const shownDefault = (value: unknown) => (typeof value === 'string' ? value : JSON.stringify(value))

export const definedParams = (params: readonly EditedParam[]): NonNullable<QueryDefinition['params']> =>
  Object.fromEntries(
    params.map(({ name, type, value }) => [
      name,
      value === '' ? { type, required: true } : { type, default: defaultOf(type, value) },
    ]),
  )

/** Throws a SyntaxError if it must be JSON and is not. */
const defaultOf = (type: QueryParamType, value: string): unknown =>
  type === 'json' || type.endsWith('[]') ? JSON.parse(value) : value

export const paramTypes = queryParamTypes
