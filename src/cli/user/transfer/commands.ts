import { createReadStream } from 'node:fs'
import { basename } from 'node:path'
import { formatBytes, formatDuration, plural } from '../../../client/format.ts'
import { UsageError } from '../../command-error.ts'
import { statNamedFile } from '../../named-file.ts'
import { textOf } from '../../option-values.ts'
import type { UserCall, UserCommand } from '../command.ts'
import { at, wholeText } from '../explain.ts'
import { showProgress, transferLine } from '../progress.ts'
import { type Service, withService } from '../service.ts'
import { readTableName, tableInSql } from '../table-name.ts'
import { passOn, writeTo } from '../whole-file.ts'

const exportFormats = ['csv', 'text', 'binary', 'geojson', 'ndjson', 'json'] as const
type ExportFormat = (typeof exportFormats)[number]

const exportCommand: UserCommand = {
  name: 'export',
  summary: 'save a table or the rows of a query; the file appears when it is whole',
  arguments: [{ name: 'TABLE|QUERY', kind: 'table' }],
  options: {
    output: { type: 'string', short: 'o', value: 'FILE', kind: 'file', help: 'the file; else stdout' },
    format: {
      type: 'string',
      value: 'F',
      kind: exportFormats,
      help: `one of ${exportFormats.join(', ')}; else by the ending of the file, or csv`,
    },
  },
  details: [
    '  cartage export places -o places.geojson',
    "  cartage export 'select * from places where pop > 1e6' -o large.csv",
  ],
  run: (call) => withService(call, (service) => exportRows(call, service)),
}

async function exportRows(call: UserCall, service: Service): Promise<void> {
  const file = textOf(call.values, 'output')
  const format = exportFormatOf(call, file)
  const query = queryOf(call.args[0]!)
  if (format === 'binary' && file === undefined && call.terminal.out.isTerminal)
    throw new UsageError('binary is not for a terminal: add -o FILE')
  await transferOut(call, file, (onProgress) => {
    const { client, signal } = service
    const isCopied = format === 'csv' || format === 'text' || format === 'binary'
    return at({ text: query, from: -copyHead.length, statement: `${copyHead}${query}` }, () =>
      isCopied
        ? client.copyTo(
            `${copyHead}${query}\n) to stdout with (format ${format}${format === 'csv' ? ', header true' : ''})`,
            { signal, onProgress },
          )
        : client.download(query, { format, signal, onProgress }),
    )
  })
}

const copyHead = 'copy ('

function exportFormatOf({ values }: UserCall, file: string | undefined): ExportFormat {
  return (textOf(values, 'format') as ExportFormat | undefined) ?? formatOfEnding(file)
}

/** A file must not be something else than its name says. */
function formatOfEnding(file = ''): ExportFormat {
  const [, ending] = /\.(\w+)$/.exec(basename(file)) ?? []
  if (ending === undefined) return 'csv'
  const format = endings.get(ending.toLowerCase())
  if (format) return format
  throw new UsageError(`.${ending} is none of ours: add --format, one of ${exportFormats.join(', ')}`)
}

const endings: ReadonlyMap<string, ExportFormat> = new Map([
  ['csv', 'csv'],
  ['geojson', 'geojson'],
  ['ndjson', 'ndjson'],
  ['jsonl', 'ndjson'],
  ['json', 'json'],
  ['tsv', 'text'],
  ['txt', 'text'],
])

/** One word is a table, with or without its schema; anything else is SQL. */
function queryOf(source: string): string {
  if (/^\s*(select|with|values|table)\s/i.test(source)) return source.replace(/;\s*$/, '')
  return `select * from ${tableInSql(readTableName(source))}`
}

type OnProgress = (progress: Readonly<{ bytes: number }>) => void

/** Receives bytes into a file or stdout, with progress. */
async function transferOut(
  { terminal }: UserCall,
  file: string | undefined,
  open: (onProgress: OnProgress) => Promise<AsyncIterable<Uint8Array>>,
): Promise<void> {
  const startedAt = performance.now()
  let bytes = 0
  const stop = showProgress(terminal, () => transferLine(bytes, undefined, startedAt))
  try {
    await writeTo(file, async (target) => {
      const source = await open((progress) => {
        bytes = progress.bytes
      })
      await passOn(source, target)
    })
  } finally {
    stop()
  }
  if (terminal.err.isTerminal) {
    const taken = formatDuration(performance.now() - startedAt)
    terminal.say(`${file && file !== '-' ? `${file}: ` : ''}${formatBytes(bytes)} in ${taken}`)
  }
}

const copyArguments = [
  { name: 'STATEMENT', kind: 'text' },
  { name: 'FILE', kind: 'file' },
] as const

const copyFrom: UserCommand = {
  name: 'copy from',
  summary: 'load a file with COPY ... FROM STDIN; FILE - is stdin',
  arguments: copyArguments,
  run: (call) =>
    withService(call, async ({ client, signal }) => {
      const [statement, file] = call.args as [string, string]
      const total = file === '-' ? undefined : (await statNamedFile(file)).size
      const rows = file === '-' ? process.stdin : createReadStream(file, { highWaterMark: 256 * 1024 })
      const startedAt = performance.now()
      let sent = 0
      const stop = showProgress(call.terminal, () =>
        sent === total ? 'sent; PostgreSQL is storing' : transferLine(sent, total, startedAt),
      )
      const onProgress = ({ bytes }: { bytes: number }) => {
        sent = bytes
      }
      const answer = await at(wholeText(statement), () =>
        client.copyFrom(statement, rows, { signal, onProgress }),
      ).finally(stop)
      return { document: answer, lines: [`${plural(answer.total_rows, 'row')} in ${answer.time} s`] }
    }),
}

const copyTo: UserCommand = {
  name: 'copy to',
  summary: 'save what COPY ... TO STDOUT gives, whole or not at all; FILE - is stdout',
  arguments: copyArguments,
  run: (call) =>
    withService(call, async ({ client, signal }) => {
      const [statement, file] = call.args as [string, string]
      await transferOut(call, file, (onProgress) =>
        at(wholeText(statement), () => client.copyTo(statement, { signal, onProgress })),
      )
      return { document: { file } }
    }),
}

export const transferCommands: readonly UserCommand[] = [exportCommand, copyFrom, copyTo]
