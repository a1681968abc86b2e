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
import type { GivenValue, GivenValues } from '../parameters/bind.ts'

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

/** A parameter as it is edited. The default is text; empty: the parameter is required, or NULL. */
export type EditedParam = Readonly<{ name: string; type: QueryParamType; value: string; isNull: boolean }>

/** The parameters of a statement: with the draft's values, else as saved before. */
export function editedParams(
  text: string,
  given: GivenValues,
  known: SavedQueryDocument | undefined,
): readonly EditedParam[] {
  const former = known ? givenBy(known) : {}
  return numberNames(text).names.map((name) => {
    const label = `:${name}`
    const { type = 'text', text: value = '', isNull = false } = given[label] ?? former[label] ?? {}
    return { name, type: type === 'auto' ? typeLike(value) : type, value: isNull ? '' : value, isNull }
  })
}

/** A saved query needs a type. */
const typeLike = (value: string): QueryParamType =>
  /^-?\d{1,9}$/.test(value) ? 'integer' : /^-?\d+(\.\d+)?$/.test(value) ? 'numeric' : 'text'

/** The fields of a saved query: its types and defaults. */
export const givenBy = ({ params }: SavedQueryDocument): GivenValues =>
  Object.fromEntries(
    Object.entries(params).map(
      ([name, { type, default: value, required: isRequired }]): [string, GivenValue] => [
        `:${name}`,
        { type, text: shownDefault(value), isNull: value === null || (value === undefined && !isRequired) },
      ],
    ),
  )

const shownDefault = (value: unknown) =>
  value === undefined || value === null
    ? undefined
    : typeof value === 'string'
      ? value
      : JSON.stringify(value)

export const definedParams = (params: readonly EditedParam[]): NonNullable<QueryDefinition['params']> =>
  Object.fromEntries(
    params.map(({ name, type, value, isNull }) => [
      name,
      value === '' ? { type, required: !isNull } : { type, default: defaultOf(type, value) },
    ]),
  )

/** Throws a SyntaxError if it must be JSON and is not. */
const defaultOf = (type: QueryParamType, value: string): unknown =>
  type === 'json' || type.endsWith('[]') ? JSON.parse(value) : value

export const paramTypes = queryParamTypes
