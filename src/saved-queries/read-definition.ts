import { type ChartDefinition, chartProblem } from '../contract/charts.ts'
import {
  isQueryParam,
  maxQueryDescription,
  maxQueryParams,
  maxQuerySql,
  type QueryParam,
  type QueryParams,
  queryParamRule,
  queryParamTypes,
  reservedParams,
} from '../contract/saved-queries.ts'
import { isJsonObject, type JsonObject, unknownMember } from '../contract/text/json-object.ts'
import { keptDigits, significantDigits } from '../contract/text/json-rows.ts'
import { type AppError, errors } from '../errors.ts'
import { fillParameters, namedParameters } from '../sql/named-parameters.ts'
import { pageableStatement } from '../sql/query-kind.ts'
import { parseStatements } from '../sql/statements.ts'
import { isFitting, statementOf } from './parameter-values.ts'

export type SavedDefinition = Readonly<{
  sql: string
  description: string
  params: QueryParams
  isPublic: boolean
  chart: ChartDefinition | undefined
}>

/** Throws on the first mistake. What only PostgreSQL can know is not checked here. `text`: of a body of JSON. */
export function readDefinition(body: unknown, text: string | undefined): SavedDefinition {
  if (!isJsonObject(body)) throw errors.queryInvalid('The body must be an object with sql')
  refuseUnknown(body, ['sql', 'description', 'params', 'public', 'chart', ...ignored], 'A query')
  const { sql, description = '', params = {}, public: isPublic = false, chart } = body
  if (typeof sql !== 'string' || sql.trim() === '') throw errors.queryInvalid('sql must be one SELECT')
  if (sql.length > maxQuerySql) throw errors.queryInvalid(`sql must have at most ${maxQuerySql} characters`)
  if (typeof description !== 'string' || description.length > maxQueryDescription)
    throw errors.queryInvalid(`description must be a text of at most ${maxQueryDescription} characters`)
  if (typeof isPublic !== 'boolean') throw errors.queryInvalid('public must be true or false')
  if (!isJsonObject(params)) throw errors.queryInvalid('params must be an object with the parameters by name')
  refuseLongNumbers(text ?? '')
  const definition = {
    sql,
    description,
    params: readParams(params, readSelect(sql)),
    isPublic,
    chart: readChart(chart),
  }
  // With its casts the statement is longer than the text.
  if (!pageableStatement(statementOf(sql, definition.params, 'places')))
    throw errors.queryInvalid('sql has too many parameters or is too long')
  return definition
}

function readChart(given: unknown): ChartDefinition | undefined {
  if (given === undefined) return undefined
  const problem = chartProblem(given)
  if (problem !== undefined) throw errors.queryInvalid(problem)
  return given as ChartDefinition
}

/** JavaScript keeps 15 digits of a number: a default with more would be stored as another number. */
function refuseLongNumbers(json: string): void {
  for (const [token] of json.matchAll(/"(?:[^"\\]|\\.)*"|-?\d[\d.]*/g)) {
    if (token.startsWith('"')) continue
    if (significantDigits(token) > keptDigits)
      throw errors.queryInvalid(
        `A default has too many digits for a number of JSON: write ${cut(token)} as a text`,
      )
  }
}

/** So that a document that was read can be sent again, and what old clients add. */
const ignored = ['name', 'created_at', 'updated_at', 'api_key', 'client']

/** The names of the parameters of a SELECT, in their order. */
function readSelect(sql: string): readonly string[] {
  const named = namedParameters(sql)
  if (!named.ok) throw errors.queryInvalid(named.message)
  const names = [...new Set(named.names)]
  const wrong = names.find((name) => !isQueryParam(name))
  if (wrong !== undefined)
    throw errors.queryInvalid(`The name of a parameter must have ${queryParamRule}: not :${cut(wrong)}`)
  const reserved = names.find((name) => reservedParams.includes(name))
  if (reserved !== undefined)
    throw errors.queryInvalid(`A parameter cannot be called ${reserved}: requests use this name`)
  if (names.length > maxQueryParams)
    throw errors.queryInvalid(`A query has at most ${maxQueryParams} parameters`)
  // Parsed as a statement without parameters: `null` is allowed wherever a parameter is.
  const text = fillParameters(named, () => 'null')
  const parsed = parseStatements(text)
  if (!parsed.ok) throw errors.queryInvalid(`sql must be one SELECT: ${parsed.message}`)
  if (!pageableStatement(text)) throw notOneSelect(parsed.statements.length)
  return names
}

function notOneSelect(count: number): AppError {
  const but = count === 1 ? 'one that writes nothing, not even in a WITH' : `not ${count} statements`
  return errors.queryInvalid(`sql must be one SELECT, ${but}`)
}

function readParams(given: JsonObject, names: readonly string[]): QueryParams {
  const unknown = unknownMember(given, names)
  if (unknown !== undefined) throw errors.queryInvalid(`The SQL has no parameter :${cut(unknown)}`)
  return Object.fromEntries(
    names.map((name) => [name, readParam(name, Object.hasOwn(given, name) ? given[name] : undefined)]),
  )
}

function readParam(name: string, given: unknown): QueryParam {
  if (given === undefined) return { type: 'text', required: true }
  if (!isJsonObject(given))
    throw errors.queryInvalid(`params.${name} must be an object with type, default or required`)
  refuseUnknown(given, ['type', 'default', 'required'], `params.${name}`)
  const { type: givenType = 'text', default: value, required: isRequired = false } = given
  const type = queryParamTypes.find((known) => known === givenType)
  if (type === undefined)
    throw errors.queryInvalid(`params.${name}.type must be one of ${queryParamTypes.join(', ')}`)
  if (typeof isRequired !== 'boolean')
    throw errors.queryInvalid(`params.${name}.required must be true or false`)
  if (value === undefined) return { type, required: isRequired }
  if (isRequired) throw errors.queryInvalid(`params.${name} is required, so it has no default`)
  if (!isFitting(type, jsonOf(name, value)))
    throw errors.queryInvalid(`params.${name}.default must be a value of the type ${type}`)
  return { type, default: value, required: false }
}

function jsonOf(name: string, value: unknown): string {
  try {
    return JSON.stringify(value)
  } catch {
    // Only brackets overflow the stack.
    throw errors.queryInvalid(`params.${name}.default is nested too deeply`)
  }
}

function refuseUnknown(given: JsonObject, known: readonly string[], what: string): void {
  const unknown = unknownMember(given, known)
  if (unknown !== undefined) throw errors.queryInvalid(`${what} has no member '${cut(unknown)}'`)
}

const cut = (text: string) => text.slice(0, 100)
