import type { FastifyRequest } from 'fastify'
import { onConflicts, onErrors, rejectLists } from '../../contract/formats.ts'
import { collisionStrategies, importPrivacies } from '../../contract/import-names.ts'
import { defaultBadRows, longestWaitSeconds, maxBadRows } from '../../contract/limits.ts'
import { longestName, splitNames } from '../../contract/text/name-list.ts'
import { errors } from '../../errors.ts'
import type { ImportSettings, ImportSource } from '../../imports/import-record.ts'
import { keyColumnsOf } from '../copy/load-options.ts'
import { isUuid, type Parameters, textOf, wholeOf, withoutEmpty } from '../middleware/parameters.ts'

/** An import as the client wants it. `file`: what was uploaded. */
export function readImport(
  parameters: Parameters,
  file: Readonly<{ name: string; bytes: number }> | undefined,
): Readonly<{ source: ImportSource; options: ImportSettings }> {
  const given = withoutEmpty(parameters)
  const strange = unsupported.find((name) => Object.hasOwn(given, name))
  if (strange !== undefined) throw errors.importInvalid(`The parameter ${strange} is not supported`)
  const options = readOptions(given)
  const source = readSource(given, file)
  if ((source.type === 'sql' || source.type === 'table') && options.tableName === undefined)
    throw errors.importInvalid('table_name must be given with sql and table_copy')
  if (options.maxBadRows !== undefined && (source.type === 'sql' || source.type === 'table'))
    throw errors.importInvalid('on_error=skip needs a file')
  if (options.isPreview && (source.type === 'sql' || source.type === 'table'))
    throw errors.importInvalid('preview needs a file')
  if (options.collision === 'upsert' && !options.key?.length)
    throw errors.importInvalid('collision_strategy upsert needs key: the columns that identify a row')
  return { source, options }
}

const unsupported = ['connector', 'service_name', 'service_item_id', 'remote_visualization_id', 'interval']

function readSource(
  given: Parameters,
  file: Readonly<{ name: string; bytes: number }> | undefined,
): ImportSource {
  const texts = { url: textOf(given, 'url'), sql: textOf(given, 'sql'), table: textOf(given, 'table_copy') }
  const found: ImportSource[] = []
  if (file) found.push({ type: 'file', ...file })
  if (texts.url !== undefined) found.push({ type: 'url', url: texts.url })
  if (texts.sql !== undefined) found.push({ type: 'sql', sql: texts.sql })
  if (texts.table !== undefined) found.push({ type: 'table', table: texts.table })
  if (found.length > 1) throw errors.importInvalid('Send exactly one of a file, url, sql and table_copy')
  return found[0] ?? { type: 'nothing' }
}

function readOptions(given: Parameters): ImportSettings {
  return {
    tableName: readTableName(given),
    ...readCollision(given),
    addColumns: flag(given, 'add_columns', false),
    privacy: choice(given, 'privacy', importPrivacies),
    typeGuessing: flag(given, 'type_guessing', true),
    quotedFieldsGuessing: flag(given, 'quoted_fields_guessing', true),
    contentGuessing: flag(given, 'content_guessing', false),
    createVisualization: flag(given, 'create_vis', false),
    sheet: readSheet(given),
    layers: readLayers(given),
    ...readSkipping(given),
    ...(flag(given, 'preview', false) && { isPreview: true }),
  }
}

function readCollision(given: Parameters): Pick<ImportSettings, 'collision' | 'key' | 'keepsExisting'> {
  const text = textOf(given, 'key')
  const key = text === undefined ? undefined : keyColumnsOf(text)
  const collision = choice(given, 'collision_strategy', collisionStrategies)
  const onConflict = choice(given, 'on_conflict', onConflicts)
  if (onConflict === undefined) return { collision, key }
  if (collision === 'skip' || collision === 'overwrite')
    throw errors.importInvalid(`on_conflict does not go with collision_strategy ${collision}`)
  if (!key?.length) throw errors.importInvalid('on_conflict and key go together: on_conflict=update&key=id')
  return { collision: 'upsert', key, ...(onConflict === 'nothing' && { keepsExisting: true }) }
}

function readSheet(given: Parameters): string | undefined {
  const name = textOf(given, 'sheet')
  if (name !== undefined && name.length > longestName)
    throw errors.importInvalid('Invalid sheet: it is too long')
  return name
}

function readLayers(given: Parameters): readonly string[] | undefined {
  const text = textOf(given, 'layer')
  if (text === undefined) return undefined
  const names = splitNames(text, mostLayers)
  if (!names) throw errors.importInvalid(`Invalid layer: it must be a list of up to ${mostLayers} layers`)
  return names
}

const mostLayers = 50

/** Undefined: none may be left out. */
function readSkipping(given: Parameters): Pick<ImportSettings, 'maxBadRows' | 'listsAllRejects'> {
  const skips = choice(given, 'on_error', onErrors) === 'skip'
  const badRows = wholeOf(given, 'max_bad_rows', 0, maxBadRows)
  const rejects = choice(given, 'rejects', rejectLists)
  if (!skips && (badRows !== undefined || rejects !== undefined))
    throw errors.importInvalid('max_bad_rows and rejects go with on_error=skip')
  return skips ? { maxBadRows: badRows ?? defaultBadRows, listsAllRejects: rejects === 'all' } : {}
}

function readTableName(given: Parameters): string | undefined {
  const name = textOf(given, 'table_name')?.trim()
  if (name !== undefined && name.length > 255)
    throw errors.importInvalid('table_name must have at most 255 characters')
  return name || undefined
}

/** One of the choices, in upper or lower case. */
function choice<T extends string>(given: Parameters, name: string, choices: readonly T[]): T | undefined {
  const text = textOf(given, name)?.toLowerCase()
  if (text === undefined) return undefined
  const found = choices.find((each) => each === text)
  if (found === undefined)
    throw errors.importInvalid(`Invalid ${name}: it must be one of ${choices.join(', ')}`)
  return found
}

/** A flag, as a JSON boolean or as text. */
function flag(given: Parameters, name: string, usual: boolean): boolean {
  const value = given[name]
  if (value === undefined) return usual
  if (value === true || value === 'true' || value === 'True') return true
  if (value === false || value === 'false' || value === 'False') return false
  throw errors.importInvalid(`Invalid ${name}: it must be true or false`)
}

export function readImportId({ params }: FastifyRequest): string {
  const { importId } = params as { importId: string }
  if (!isUuid(importId)) throw errors.importNotFound(importId)
  return importId.toLowerCase()
}

export function readWait({ query }: FastifyRequest): number {
  const text = textOf(query as Parameters, 'wait')
  if (text === undefined || text === '') return 0
  if (!/^\d+(\.\d+)?$/.test(text)) throw errors.importInvalid('wait must be a number of seconds')
  return Math.min(Number(text), longestWaitSeconds) * 1_000
}
