import { text } from 'node:stream/consumers'
import type { QueryValues } from '../../../client/api/queries-api.ts'
import { hasCode } from '../../../client/cartage-error.ts'
import {
  type QueryDefinition,
  queryParamTypes,
  type SavedQueryDocument,
} from '../../../contract/saved-queries.ts'
import { numberNames } from '../../../sql-text/named-values.ts'
import { confirm } from '../../ask.ts'
import { wrongCall, yesOption } from '../../command.ts'
import { UsageError } from '../../command-error.ts'
import { readNamedFile } from '../../named-file.ts'
import { listOf, textOf } from '../../option-values.ts'
import { fileOption, type UserCall, type UserCommand } from '../command.ts'
import { wholeText } from '../explain.ts'
import { type OutputFormat, outputFormats } from '../output/formats.ts'
import { printList, printRecord } from '../output/list.ts'
import { withService, withServiceAs } from '../service.ts'
import { writeTo } from '../whole-file.ts'
import { valueOptions, valuesOf } from './bound-values.ts'
import { formatOf } from './command.ts'
import { runStatement } from './run-statement.ts'

const queryArgument = { name: 'QUERY', kind: 'query' } as const

const save: UserCommand = {
  name: 'query save',
  summary: 'save one SELECT under a name, for others to run',
  arguments: [queryArgument, { name: 'STATEMENT', kind: 'text', isOptional: true }],
  options: {
    file: fileOption('the statement'),
    param: {
      type: 'string',
      short: 'p',
      multiple: true,
      value: 'NAME:TYPE[=DEFAULT]',
      help: 'a parameter of the statement; without a default it is required. May be repeated',
    },
    description: { type: 'string', value: 'TEXT', help: 'what it is for' },
    public: { type: 'boolean', help: 'callers without a key may run it, with the rights of the public' },
    private: { type: 'boolean', help: 'only callers with a key may run it: the default of a new query' },
  },
  details: [
    'Needs the master key. Others run it with their own keys and never see its SQL.',
    'A query that exists keeps what is not given: its description, parameters, chart, and whether it is public.',
    `TYPE is one of ${queryParamTypes.slice(0, 12).join(', ')},`,
    'or an array such as text[]; the default of an array or of json is written as JSON.',
    '',
    "  cartage query save towns 'select * from places where country = :c limit :n' -p c:text -p n:integer=10",
    '  cartage query run towns -p c=FR',
  ],
  run: async (call) => {
    const sql = await statementOf(call)
    const given = givenParts(call)
    return withService(call, async ({ client }) => {
      const known = await client.queries.get(call.args[0]!).catch((error: unknown) => {
        if (hasCode(error, 'query-not-found')) return undefined
        throw error
      })
      const { name } = await client.queries.save(call.args[0]!, definitionOf(sql, given, known))
      call.terminal.say(`saved ${name}`)
    })
  },
}

async function statementOf({ args: [, statement], values }: UserCall): Promise<string> {
  const file = textOf(values, 'file')
  if (statement !== undefined) {
    if (file !== undefined) throw wrongCall(save, 'give a statement or -f FILE, not both')
    return statement
  }
  if (file === undefined && process.stdin.isTTY) throw wrongCall(save, 'give a statement or -f FILE')
  return file === undefined || file === '-' ? text(process.stdin) : readNamedFile(file)
}

type GivenParts = Omit<QueryDefinition, 'sql'>

function givenParts({ values }: UserCall): GivenParts {
  const description = textOf(values, 'description')
  if (values.public && values.private) throw wrongCall(save, 'give --public or --private, not both')
  return {
    params: Object.fromEntries(listOf(values, 'param').map(readParam)),
    ...((values.public || values.private) && { public: values.public === true }),
    ...(description !== undefined && { description }),
  }
}

/** What is not given stays as it is known. The document of a query can be sent again; the service ignores its name and times. */
function definitionOf(
  sql: string,
  { params, ...given }: GivenParts,
  known: SavedQueryDocument | undefined,
): QueryDefinition {
  const { names } = numberNames(sql)
  const kept = Object.entries(known?.params ?? {}).filter(([name]) => names.includes(name))
  return { ...known, ...given, sql, params: { ...Object.fromEntries(kept), ...params } }
}

function readParam(given: string): readonly [string, NonNullable<QueryDefinition['params']>[string]] {
  const [, name, typeName = 'text', value] = /^(\w+)(?::([\w[\]]+))?(?:=(.*))?$/s.exec(given) ?? []
  const type = queryParamTypes.find((known) => known === typeName)
  if (name === undefined) throw new UsageError(`-p must be NAME:TYPE or NAME:TYPE=DEFAULT, not '${given}'`)
  if (type === undefined)
    throw new UsageError(`-p ${name}: the type must be one of ${queryParamTypes.join(', ')}`)
  if (value === undefined) return [name, { type, required: true }]
  return [name, { type, default: type === 'json' || type.endsWith('[]') ? jsonOf(name, value) : value }]
}

function jsonOf(name: string, value: string): unknown {
  try {
    return JSON.parse(value)
  } catch {
    throw new UsageError(`-p ${name}: the default must be JSON`)
  }
}

const list: UserCommand = {
  name: 'query list',
  summary: 'list the saved queries of the account',
  run: (call) =>
    withService(call, async ({ client }) => {
      const rows = (await client.queries.list()).map((query) => ({
        name: query.name,
        parameters: parametersOf(query),
        public: query.public,
        updated_at: query.updated_at,
        description: query.description,
      }))
      await printList(call, rows, 'No saved queries yet: cartage query save makes one')
    }),
}

/** As `query save` takes them. */
const parametersOf = ({ params }: SavedQueryDocument) =>
  Object.entries(params)
    .map(
      ([name, { type, default: value }]) => `${name}:${type}${value === undefined ? '' : `=${shown(value)}`}`,
    )
    .join(' ')

const shown = (value: unknown) => (typeof value === 'string' ? value : JSON.stringify(value))

const show: UserCommand = {
  name: 'query show',
  summary: 'show a saved query with its SQL',
  arguments: [queryArgument],
  run: (call) =>
    withService(call, async ({ client }) => printRecord(call, await client.queries.get(call.args[0]!))),
}

const run: UserCommand = {
  name: 'query run',
  summary: 'run a saved query and print its rows',
  arguments: [queryArgument],
  options: {
    ...valueOptions,
    format: { type: 'string', value: 'F', kind: outputFormats, help: `one of ${outputFormats.join(', ')}` },
    output: { type: 'string', short: 'o', value: 'FILE', kind: 'file', help: 'write the rows to a file' },
    as: {
      type: 'string',
      value: 'KEY',
      kind: 'key',
      help: 'run with the rights of another key of the account',
    },
  },
  details: ['  cartage query run towns -p c=FR --format csv -o towns.csv'],
  run: async (call) => {
    const given = valuesOf(call) ?? new Map()
    if (!(given instanceof Map))
      throw new UsageError('--params must be a JSON object with the values by name')
    const values = Object.fromEntries(given) as QueryValues
    const format: OutputFormat = formatOf(call)
    return withServiceAs(call, textOf(call.values, 'as'), ({ client: { queries }, signal }) => {
      const name = call.args[0]!
      const client: Parameters<typeof runStatement>[1]['client'] = {
        download: (_name, options) => queries.download(name, values, options),
        rows: (_name, options) => queries.rows(name, values, options),
      }
      return writeTo(textOf(call.values, 'output'), (target) =>
        runStatement(call, { client, signal }, wholeText(name), { format, target }),
      )
    })
  },
}

const remove: UserCommand = {
  name: 'query delete',
  summary: 'delete a saved query; those who run it get 404',
  arguments: [queryArgument],
  options: yesOption,
  run: async (call) => {
    const name = call.args[0]!
    await confirm(call, { name, loss: `This deletes the saved query ${name}`, verb: 'delete' })
    return withService(call, async ({ client }) => {
      await client.queries.delete(name)
      call.terminal.say(`deleted ${name}`)
    })
  },
}

export const queryCommands: readonly UserCommand[] = [save, list, show, run, remove]
