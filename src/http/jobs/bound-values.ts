import { maxParams } from '../../contract/limits.ts'
import { elementsOf, memberPlaces } from '../../contract/text/json-rows.ts'
import { errors } from '../../errors.ts'
import { textOfBody } from '../middleware/body/body.ts'
import { isJsonArray } from '../middleware/parameters.ts'

/** The `params` of a body as they are written, so that no digit of a number is lost. */
export type WrittenParams = Readonly<{
  ofJob: string | undefined
  ofItem: (index: number) => string | undefined
}>

/** Reads where `params` stand in the body: beside a string `query`, or inside the items. */
export function writtenParams(body: object): WrittenParams {
  const text = textOfBody(body)
  if (text === undefined) return { ofJob: formParams(body), ofItem: () => undefined }
  const members = lastMembers(text)
  const query = members.get('query') ?? ''
  const items = query.startsWith('{') ? (lastMembers(query).get('query') ?? '') : query
  const places = items.startsWith('[') ? [...elementsOf(items)] : []
  return {
    ofJob: members.get('params'),
    ofItem: (index) =>
      places[index]?.startsWith('{') ? lastMembers(places[index]).get('params') : undefined,
  }
}

/** In a form it is JSON text. */
const formParams = (body: object) => {
  const { params } = body as { params?: unknown }
  return typeof params === 'string' ? params : undefined
}

/** The members by name. If a name is repeated, the last member counts, as in JSON.parse. */
function lastMembers(text: string): ReadonlyMap<string, string> {
  return new Map([...memberPlaces(text)].map(({ name, start, end }) => [name, text.slice(start, end)]))
}

/** The JSON text of each value. */
export function readParams(written: string | undefined, place: string): readonly string[] {
  if (written === undefined || !isJsonArray(written))
    throw errors.jobInvalid(`${place} must be an array of values, such as [1, "two", null]`)
  const values = [...elementsOf(written.trim())]
  if (values.length > maxParams) throw errors.jobInvalid(`${place} has more than ${maxParams} values`)
  return values
}
