import { isJsonObject, type JsonObject } from '../../contract/text/json-object.ts'
import { errors } from '../../errors.ts'
import { shortened, textOfConfig } from '../config-text.ts'
import { Filling, type PlacedValue, type PlacedValues, type PlaceholderType } from './filling.ts'
import { placeInSql } from './template-sql.ts'
import { longestToken } from './viewer-tokens.ts'

/** A template as it was sent, checked. */
export type Template = Readonly<{
  name: string
  /** Without `auth.valid_tokens`. */
  document: JsonObject
  /** Null: anyone may open it. */
  validTokens: readonly string[] | null
}>

/** Throws on the first fault. */
export function readTemplate(raw: unknown): Template {
  if (!isJsonObject(raw)) throw errors.mapInvalid('The template must be a JSON object')
  textOfConfig(raw, maxTemplateLength)
  const { api_key: _key, client: _client, ...sent } = raw
  if (sent.version !== '0.0.1') throw errors.mapInvalid(`Unsupported template version ${shown(sent.version)}`)
  const { name, layergroup } = sent
  if (name === undefined || name === '') throw errors.mapInvalid('Missing template name')
  if (!isTemplateName(name)) throw errors.mapInvalid(`Invalid characters in template name '${shown(name)}'`)
  requireLayers(layergroup)
  requirePlaceholders(sent.placeholders)
  const { auth } = sent
  if (auth === undefined || auth === null) return { name, document: rendering(sent), validTokens: null }
  if (!isJsonObject(auth)) throw errors.mapInvalid('auth must be an object with a method')
  const { valid_tokens: _tokens, ...method } = auth
  return { name, document: rendering({ ...sent, auth: method }), validTokens: tokensOf(auth) }
}

/** The same document. Throws if its defaults make no map. */
function rendering(document: JsonObject): JsonObject {
  renderTemplate(document, {})
  return document
}

function requirePlaceholders(placeholders: unknown): void {
  if (placeholders === undefined || placeholders === null) return
  if (!isJsonObject(placeholders)) throw errors.mapInvalid('placeholders must be an object')
  if (Object.keys(placeholders).length > mostPlaceholders)
    throw errors.mapInvalid(`A template has at most ${mostPlaceholders} placeholders`)
}

const mostPlaceholders = 100
const maxTemplateLength = 256 * 1_024

export const isTemplateName = (name: unknown): name is string =>
  typeof name === 'string' && /^[A-Za-z0-9][A-Za-z0-9_-]{0,254}$/.test(name)

function requireLayers(layergroup: unknown): void {
  if (!isJsonObject(layergroup)) throw errors.mapInvalid('Missing layergroup')
  const { layers } = layergroup
  if (!Array.isArray(layers) || layers.length === 0)
    throw errors.mapInvalid('Missing or empty layers array from layergroup config')
  const without = layers.flatMap((layer: unknown, index) =>
    isJsonObject(layer) && isJsonObject(layer.options) ? [] : [index],
  )
  if (without.length > 0)
    throw errors.mapInvalid(`Missing \`options\` in layergroup config for layers: ${without.join(', ')}`)
}

/** An `auth` that is not understood must never make an open map. */
function tokensOf({ method, valid_tokens: tokens }: JsonObject): readonly string[] | null {
  if (method === 'open' && tokens === undefined) return null
  if (method === 'open') throw errors.mapInvalid("valid_tokens need the authentication method 'token'")
  if (method === undefined) throw errors.mapInvalid('auth must be an object with a method')
  if (method !== 'token') throw errors.mapInvalid(`Unsupported authentication method: ${shown(method)}`)
  if (!Array.isArray(tokens)) throw errors.mapInvalid("Invalid 'token' authentication: missing valid_tokens")
  if (tokens.length === 0) throw errors.mapInvalid("Invalid 'token' authentication: no valid_tokens")
  if (tokens.length > mostTokens)
    throw errors.mapInvalid(`Invalid 'token' authentication: more than ${mostTokens} valid_tokens`)
  if (tokens.every((token) => typeof token === 'string' && token !== '' && token.length <= longestToken))
    return tokens
  throw errors.mapInvalid(
    `Invalid 'token' authentication: valid_tokens must be texts of 1 to ${longestToken} characters`,
  )
}

const mostTokens = 100

/** The config of a map of this template. Missing values are the defaults, unknown ones are ignored. */
export function renderTemplate(document: JsonObject, given: JsonObject): unknown {
  const { layergroup } = document
  const rendered = filled(layergroup, '', new Filling(valuesOf(document, given)))
  const types = typesIn(layergroup)
  if (typesIn(rendered).some((type, at) => type === 'named' && types[at] !== 'named'))
    throw errors.mapInvalid('A placeholder cannot make a layer one of type named')
  return rendered
}

const typesIn = (layergroup: unknown): readonly unknown[] =>
  isJsonObject(layergroup) && Array.isArray(layergroup.layers)
    ? layergroup.layers.map((layer: unknown) => (isJsonObject(layer) ? layer.type : undefined))
    : []

function valuesOf({ placeholders }: JsonObject, given: JsonObject): PlacedValues {
  const known = isJsonObject(placeholders) ? placeholders : {}
  return Object.fromEntries(
    Object.entries(known).map(([name, placeholder]) => {
      if (!/^[A-Za-z]\w{0,62}$/.test(name))
        throw errors.mapInvalid(`Invalid characters in placeholder name '${shown(name)}'`)
      if (!isJsonObject(placeholder) || placeholder.default === undefined)
        throw errors.mapInvalid(`Missing default for placeholder '${name}'`)
      if (placeholder.type === undefined) throw errors.mapInvalid(`Missing type for placeholder '${name}'`)
      const value = Object.hasOwn(given, name) ? given[name] : placeholder.default
      return [name, checked(name, placeholder.type, value)]
    }),
  )
}

function checked(name: string, type: unknown, value: unknown): PlacedValue {
  if (!isType(type)) throw errors.mapInvalid(`Invalid placeholder type '${shown(type)}'`)
  const text = typeof value === 'string' || typeof value === 'number' ? String(value) : undefined
  if (text !== undefined && text.length > longestValue)
    throw errors.mapInvalid(
      `The value of template parameter '${name}' is longer than ${longestValue} characters`,
    )
  const isValid = text !== undefined && !text.includes('\0') && patterns[type].test(text)
  if (!isValid)
    throw errors.mapInvalid(`Invalid ${type} value for template parameter '${name}': ${shown(value)}`)
  return { type, text }
}

const longestValue = 16 * 1_024

const patterns: Readonly<Record<PlaceholderType, RegExp>> = {
  sql_literal: /^/,
  sql_ident: /^.{1,255}$/s,
  number: /^[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?$/,
  css_color: /^(?:[A-Za-z]+|#[0-9a-fA-F]{3,6})$/,
}

const isType = (type: unknown): type is PlaceholderType =>
  typeof type === 'string' && Object.hasOwn(patterns, type)

/** Fills each text in an object or a list. */
function filled(value: unknown, member: string, filling: Filling): unknown {
  if (Array.isArray(value)) return value.map((each) => filled(each, member, filling))
  if (isJsonObject(value))
    return Object.fromEntries(
      Object.entries(value).map(([name, each]) => [name, filled(each, name, filling)]),
    )
  return typeof value === 'string' ? filledText(value, member, filling) : value
}

function filledText(text: string, member: string, filling: Filling): unknown {
  filling.count(text)
  if (sqlMembers.has(member)) return placeInSql(text, filling)
  const { holes } = filling
  if (!holes) return text
  const fill = (hole: string) => filling.fill(hole, (value) => value.text)
  if (!holes.whole.test(text)) return text.replace(holes.all, fill)
  const whole = fill(text)
  return filling.valueIn(text).type === 'number' ? Number(whole) : whole
}

const sqlMembers: ReadonlySet<string> = new Set(['sql', 'query', 'sql_wrap'])

/** For the text of an error. Not every object can become text. */
function shown(value: unknown): string {
  if (Array.isArray(value)) return 'an array'
  return shortened(value)
}
