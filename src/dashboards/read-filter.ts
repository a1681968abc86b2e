import {
  type DashboardFilter,
  type FilterValue,
  maxDashboardTitle,
  maxFilterOptions,
  maxFilterValue,
} from '../contract/dashboards.ts'
import {
  type FilterType,
  filterTypes,
  isQueryParam,
  queryParamRule,
  reservedParams,
} from '../contract/saved-queries.ts'
import { keptDigits, significantDigits } from '../contract/text/json-rows.ts'
import { choiceAt, invalid, listOf, membersAt, refuseUnknown, textAt } from './read-members.ts'

export function readFilter(value: unknown, at: number): DashboardFilter {
  const place = `filters[${at}]`
  const given = membersAt(value, place)
  refuseUnknown(given, ['param', 'label', 'type', 'default', 'options'], place)
  const { param, label, type: givenType = 'text', default: fallback, options } = given
  if (typeof param !== 'string' || !isQueryParam(param))
    throw invalid(`${place}.param must be the name of a parameter: ${queryParamRule}`)
  if (reservedParams.includes(param))
    throw invalid(`${place}.param cannot be ${param}: requests use this name`)
  const type = choiceAt(givenType, `${place}.type`, filterTypes)
  return {
    param,
    label: label === undefined ? param : textAt(label, `${place}.label`, maxDashboardTitle),
    type,
    ...(fallback !== undefined && { default: valueAt(fallback, `${place}.default`, type) }),
    ...(options !== undefined && { options: readOptions(options, `${place}.options`, type) }),
  }
}

function readOptions(value: unknown, place: string, type: FilterType): readonly FilterValue[] {
  const options = listOf(value, place, maxFilterOptions)
  if (options.length === 0) throw invalid(`${place} must have a value to choose`)
  return options.map((each, at) => valueAt(each, `${place}[${at}]`, type))
}

function valueAt(value: unknown, place: string, type: FilterType): FilterValue {
  const isOne = typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'
  if (!isOne) throw invalid(`${place} must be a value of the type ${type}`)
  if (typeof value === 'number' && isRounded(value))
    throw invalid(`${place} has too many digits for a number of JSON: write it as a text`)
  const text = String(value)
  if (text.length > maxFilterValue || !forms[type].test(text) || isOtherKind(value, type))
    throw invalid(`${place} must be a value of the type ${type}`)
  return value
}

/** JavaScript may not have kept all digits. */
const isRounded = (value: number) =>
  Number.isInteger(value) ? !Number.isSafeInteger(value) : significantDigits(String(value)) > keptDigits

/** JSON has a word of its own for true, and none for a date. */
const isOtherKind = (value: FilterValue, type: FilterType) =>
  (typeof value === 'boolean' && type !== 'boolean') ||
  (typeof value === 'number' && !['integer', 'bigint', 'numeric', 'double'].includes(type))

const whole = /^\s*[+-]?\d+\s*$/
const decimal = /^\s*[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?\s*$/i
const any = /^/
/** PostgreSQL reads the value itself: `today` is a date. */
const forms: Readonly<Record<FilterType, RegExp>> = {
  text: any,
  integer: whole,
  bigint: whole,
  numeric: decimal,
  double: decimal,
  boolean: /^(true|false)$/,
  date: /\S/,
  timestamp: /\S/,
  timestamptz: /\S/,
  uuid: /^[0-9a-f]{8}-?([0-9a-f]{4}-?){3}[0-9a-f]{12}$/i,
}
