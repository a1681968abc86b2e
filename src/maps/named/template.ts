import { errors } from '../../errors.ts'
import { isMembers, type Members, shortened } from '../members.ts'
import {
  holeOf,
  nameIn,
  type PlacedValue,
  type PlacedValues,
  type PlaceholderType,
  placeInSql,
} from './template-sql.ts'

/** A template as it was sent, checked. */
export type Template = Readonly<{
  name: string
  /** Without `auth.valid_tokens`. */
  document: Members
  /** Null: anyone may open it. */
  validTokens: readonly string[] | null
}>

/** Throws on the first fault. */
export function readTemplate(raw: unknown): Template {
  if (!isMembers(raw)) throw errors.mapInvalid('The template must be a JSON object')
  const { api_key: _key, client: _client, ...sent } = raw
  if (sent.version !== '0.0.1')
    throw errors.mapInvalid(`Unsupported template version ${shortened(sent.version)}`)
  const { name, layergroup } = sent
  if (name === undefined || name === '') throw errors.mapInvalid('Missing template name')
  if (!isTemplateName(name))
    throw errors.mapInvalid(`Invalid characters in template name '${shortened(name)}'`)
  requireLayers(layergroup)
  const auth = isMembers(sent.auth) ? sent.auth : {}
  const { valid_tokens: _tokens, ...method } = auth
  const document = sent.auth === undefined || sent.auth === null ? sent : { ...sent, auth: method }
  valuesOf(document, {})
  return { name, document, validTokens: tokensOf(auth) }
}

const isTemplateName = (name: unknown): name is string =>
  typeof name === 'string' && /^[A-Za-z0-9][A-Za-z0-9_-]{0,254}$/.test(name)

function requireLayers(layergroup: unknown): void {
  if (!isMembers(layergroup)) throw errors.mapInvalid('Missing layergroup')
  const { layers } = layergroup
  if (!Array.isArray(layers) || layers.length === 0)
    throw errors.mapInvalid('Missing or empty layers array from layergroup config')
  const without = layers.flatMap((layer: unknown, index) =>
    isMembers(layer) && isMembers(layer.options) ? [] : [index],
  )
  if (without.length > 0)
    throw errors.mapInvalid(`Missing \`options\` in layergroup config for layers: ${without.join(', ')}`)
}

function tokensOf({ method = 'open', valid_tokens: tokens }: Members): readonly string[] | null {
  if (method === 'open') return null
  if (method !== 'token') throw errors.mapInvalid(`Unsupported authentication method: ${shortened(method)}`)
  if (!Array.isArray(tokens)) throw errors.mapInvalid("Invalid 'token' authentication: missing valid_tokens")
  if (tokens.length === 0) throw errors.mapInvalid("Invalid 'token' authentication: no valid_tokens")
  if (tokens.every((token) => typeof token === 'string' && token !== '')) return tokens
  throw errors.mapInvalid("Invalid 'token' authentication: valid_tokens must be texts")
}

/** The config of a map of this template. Missing values are the defaults, unknown ones are ignored. */
export function renderTemplate(document: Members, given: Members): unknown {
  const values = valuesOf(document, given)
  return filled(document.layergroup, '', values)
}

function valuesOf({ placeholders }: Members, given: Members): PlacedValues {
  const known = isMembers(placeholders) ? placeholders : {}
  return Object.fromEntries(
    Object.entries(known).map(([name, placeholder]) => {
      if (!/^[A-Za-z]\w*$/.test(name))
        throw errors.mapInvalid(`Invalid characters in placeholder name '${shortened(name)}'`)
      if (!isMembers(placeholder) || placeholder.default === undefined)
        throw errors.mapInvalid(`Missing default for placeholder '${name}'`)
      if (placeholder.type === undefined) throw errors.mapInvalid(`Missing type for placeholder '${name}'`)
      const value = Object.hasOwn(given, name) ? given[name] : placeholder.default
      return [name, checked(name, placeholder.type, value)]
    }),
  )
}

function checked(name: string, type: unknown, value: unknown): PlacedValue {
  if (!isType(type)) throw errors.mapInvalid(`Invalid placeholder type '${shortened(type)}'`)
  const text = typeof value === 'string' || typeof value === 'number' ? String(value) : undefined
  const isValid = text !== undefined && !text.includes('\0') && patterns[type].test(text)
  if (!isValid)
    throw errors.mapInvalid(`Invalid ${type} value for template parameter '${name}': ${shortened(value)}`)
  return { type, text }
}

const patterns: Readonly<Record<PlaceholderType, RegExp>> = {
  sql_literal: /^/,
  sql_ident: /^.{1,255}$/s,
  number: /^[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?$/,
  css_color: /^(?:[A-Za-z]+|#[0-9a-fA-F]{3,6})$/,
}

const isType = (type: unknown): type is PlaceholderType =>
  typeof type === 'string' && Object.hasOwn(patterns, type)

/** Of an object or a list, each text by itself. */
function filled(value: unknown, member: string, values: PlacedValues): unknown {
  if (Array.isArray(value)) return value.map((each) => filled(each, member, values))
  if (isMembers(value))
    return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, filled(each, name, values)]))
  return typeof value === 'string' ? filledText(value, member, values) : value
}

function filledText(text: string, member: string, values: PlacedValues): unknown {
  if (sqlMembers.has(member)) return placeInSql(text, values)
  const hole = holeOf(values)
  if (!hole) return text
  if (new RegExp(`^${hole.source}$`).test(text)) {
    const { type, text: whole } = values[nameIn(text)]!
    return type === 'number' ? Number(whole) : whole
  }
  return text.replace(new RegExp(hole.source, 'g'), (found) => values[nameIn(found)]!.text)
}

const sqlMembers: ReadonlySet<string> = new Set(['sql', 'query', 'sql_wrap'])
